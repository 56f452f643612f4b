"""A GGUF file is pulled whole, goes on where it was cut, and is checked; against a hub on loopback."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from simia.errors import ConfigError
from simia.models.embedded.pull import pull

WEIGHTS = b"GGUF" + bytes(range(256)) * 4096
NAME = "someone/Some-Model-GGUF:some-model.Q4_K_M.gguf"


@dataclass
class Hub:
    """A hub with one file. ``cuts`` says after how many bytes the next answers break off."""

    weights: bytes = WEIGHTS
    digest: str = hashlib.sha256(WEIGHTS).hexdigest()
    status: int = 200
    knows_ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization", ""))
        if self.status != 200 or request.match_info["file"] != "some-model.Q4_K_M.gguf":
            return web.Response(status=self.status if self.status != 200 else 404)
        linked = {"X-Linked-Size": str(len(self.weights)), "X-Linked-ETag": f'"{self.digest}"'}
        raise web.HTTPFound("/storage/blob", headers=linked)

    async def blob(self, request: web.Request) -> web.StreamResponse:
        asked = request.headers.get("Range", "")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.knows_ranges else 0
        body = self.weights[start:]
        response = web.StreamResponse(status=206 if start else 200, headers={"Content-Length": str(len(body))})
        await response.prepare(request)
        if self.cuts:
            await response.write(body[: self.cuts.pop(0)])
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(body)
        return response


def pulled(hub: Hub, to: Path, name: str = NAME, env: dict[str, str] | None = None) -> tuple[Path, list[int]]:
    seen: list[int] = []

    async def scenario(base_url: str) -> Path:
        return await pull(name, to, base_url=base_url, env=env or {}, progress=lambda done, whole: seen.append(done))

    return asyncio.run(with_hub(hub, scenario)), seen


async def with_hub(hub: Hub, scenario: Callable[[str], Awaitable[Path]]) -> Path:
    app = web.Application()
    app.router.add_route("*", "/{owner}/{repo}/resolve/{revision}/{file}", hub.resolve)
    app.router.add_get("/storage/blob", hub.blob)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        return await scenario(f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()


def test_a_file_is_pulled_whole_with_its_progress(tmp_path: Path) -> None:
    path, seen = pulled(Hub(), tmp_path / "models")
    assert path == tmp_path / "models" / "some-model.Q4_K_M.gguf"
    assert path.read_bytes() == WEIGHTS
    assert seen == sorted(seen)
    assert seen[-1] == len(WEIGHTS)


def test_a_cut_transfer_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    hub = Hub(cuts=[300_000])
    path, _ = pulled(hub, tmp_path)
    assert path.read_bytes() == WEIGHTS
    assert hub.ranges[0] == ""
    assert 0 < int(hub.ranges[1].removeprefix("bytes=").rstrip("-")) <= 300_000


def test_a_transfer_that_is_cut_again_and_again_still_ends_whole(tmp_path: Path) -> None:
    path, _ = pulled(Hub(cuts=[150_000] * 6), tmp_path)
    assert path.read_bytes() == WEIGHTS


def test_a_server_that_ignores_ranges_sends_all_again(tmp_path: Path) -> None:
    path, _ = pulled(Hub(cuts=[300_000], knows_ranges=False), tmp_path)
    assert path.read_bytes() == WEIGHTS


def test_a_second_command_goes_on_from_the_first(tmp_path: Path) -> None:
    part = tmp_path / f"some-model.Q4_K_M.gguf.{Hub().digest[:16]}.part"
    part.write_bytes(WEIGHTS[:500_000])
    hub = Hub()
    path, _ = pulled(hub, tmp_path)
    assert path.read_bytes() == WEIGHTS
    assert hub.ranges == ["bytes=500000-"]
    assert not part.exists()


def test_a_file_that_is_there_is_not_pulled_again(tmp_path: Path) -> None:
    (tmp_path / "some-model.Q4_K_M.gguf").write_bytes(WEIGHTS)
    hub = Hub()
    pulled(hub, tmp_path)
    assert hub.tokens == []


def test_bytes_other_than_promised_are_thrown_away(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="thrown away"):
        pulled(Hub(digest="0" * 64), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["some-model.Q4_K_M.gguf.lock"]


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    page = b"<html>not a model</html>" * 100
    with pytest.raises(ConfigError, match="is no GGUF file"):
        pulled(Hub(weights=page, digest=hashlib.sha256(page).hexdigest()), tmp_path)


@pytest.mark.parametrize(("status", "advice"), [(401, "set HF_TOKEN"), (404, "check owner/repo"), (410, "refused")])
def test_a_refusal_says_what_to_do(status: int, advice: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"status {status}\).*{advice}|{advice} \(status {status}\)"):
        pulled(Hub(status=status), tmp_path)


def test_the_token_of_the_environment_opens_gated_files(tmp_path: Path) -> None:
    hub = Hub()
    pulled(hub, tmp_path, env={"HF_TOKEN": "hf_secret"})
    assert set(hub.tokens) == {"Bearer hf_secret"}


@pytest.mark.parametrize(
    "name", ["model.gguf", "owner/repo", "owner/repo:model.safetensors", "owner/repo:../x y?.gguf"]
)
def test_a_name_that_is_none_is_shown_the_form(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"write owner/repo:file\.gguf"):
        pulled(Hub(), tmp_path, name=name)


def test_without_a_network_the_error_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot reach http://127\.0\.0\.1:9/.*--model gguf:PATH") as caught:
        asyncio.run(pull(NAME, tmp_path, base_url="http://127.0.0.1:9", env={}))
    assert "\n" not in str(caught.value)
