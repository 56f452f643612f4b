"""The embedded server starts, tells its limits, and never outlives the program."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import pytest

from simia.errors import ConfigError, ExtraMissing
from simia.models.embedded.fetch import embedded_gguf
from simia.models.embedded.launch import EmbeddedServer, serve


async def started(gguf: Path) -> None:
    async with serve(gguf):
        pass


def gone(pid: int, within_s: float = 10.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_file_that_is_no_gguf_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(ConfigError, match=r"model\.safetensors is no GGUF file"):
        asyncio.run(started(tmp_path / "model.safetensors"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the model .*absent\.gguf: No such file"):
        asyncio.run(started(tmp_path / "absent.gguf"))


def test_without_the_extra_the_error_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ExtraMissing, match=r"pip install 'simia\[local\]'"):
        asyncio.run(started(tmp_path / "model.gguf"))


@pytest.mark.embedded
def test_a_cut_file_gives_the_reason_of_llama_cpp(tmp_path: Path) -> None:
    with embedded_gguf().open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(4_000_000))
    with pytest.raises(ConfigError, match=r"cannot serve .*cut\.gguf: .*corrupted or incomplete"):
        asyncio.run(started(tmp_path / "cut.gguf"))


@pytest.mark.embedded
def test_the_server_tells_its_limits_and_is_gone_after_the_block() -> None:
    async def scenario() -> EmbeddedServer:
        async with serve(embedded_gguf(), slots=3, context=1024) as server:
            assert (server.slots, server.context) == (3, 1024)
            assert server.base_url.startswith("http://127.0.0.1:")
            assert server.slot_folder.is_dir()
        return server

    server = asyncio.run(scenario())
    assert gone(server.pid, within_s=1.0)
    assert not server.slot_folder.exists()


@pytest.mark.embedded
def test_another_user_of_the_machine_gets_no_answer() -> None:
    async def scenario() -> int:
        async with serve(embedded_gguf(), slots=1, context=512) as server, aiohttp.ClientSession() as stranger:
            assert server.api_key not in repr(server)
            async with stranger.post(f"{server.base_url}/chat/completions", json={"messages": []}) as response:
                return response.status

    assert asyncio.run(scenario()) == 401


@pytest.mark.embedded
def test_a_server_that_was_killed_says_so() -> None:
    async def scenario() -> tuple[str | None, str | None, Path]:
        async with serve(embedded_gguf(), slots=1, context=512) as server:
            alive = await server.death()
            os.kill(server.pid, signal.SIGKILL)
            return alive, await server.death(), server.slot_folder

    alive, dead, slot_folder = asyncio.run(scenario())
    assert not slot_folder.exists()
    assert alive is None
    assert dead is not None
    assert "killed by signal 9" in dead


@pytest.mark.embedded
def test_the_server_ends_when_its_parent_is_killed() -> None:
    program = (
        "import asyncio, json\n"
        "from simia.models.embedded.fetch import embedded_gguf\n"
        "from simia.models.embedded.launch import serve\n"
        "async def main():\n"
        "    async with serve(embedded_gguf(), slots=1, context=512) as server:\n"
        "        print(json.dumps([server.pid, str(server.slot_folder)]), flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, slot_folder = json.loads(parent.stdout.readline())
        parent.kill()
    assert gone(pid)
    assert not Path(slot_folder).exists()
