"""Any GGUF file of the Hugging Face hub: a cut transfer goes on where it was cut, and the bytes are checked."""

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import aiohttp

from simia.errors import ConfigError, ReplyCut, ServerFailed, TransientModelError, boundary
from simia.models.embedded.fetch import Say, locked, say_to_stderr
from simia.models.embedded.launch import check_gguf

HUB = "https://huggingface.co"
_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?:(?P<file>[\w./ -]+\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BLOCK_BYTES = 1 << 20
_TRIES = 5
_FIRST_PAUSE_S = 0.25

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes of the whole file, None where the server does not say."""


@dataclass(frozen=True)
class _Remote:
    url: str
    size_bytes: int | None
    digest: str


async def pull(
    name: str,
    to: Path,
    *,
    base_url: str | None = None,
    env: Mapping[str, str] = os.environ,
    progress: Progress = lambda done, whole: None,
    say: Say = say_to_stderr,
) -> Path:
    """The path in the folder ``to`` of the file that ``name`` (``owner/repo:file.gguf``) means.

    ``owner/repo@revision:file.gguf`` takes a branch, tag or commit other than ``main``. A file that is there is not
    fetched again. ``HF_TOKEN`` in ``env`` opens gated repositories, and ``HF_ENDPOINT`` names a mirror. Of a model in
    several files, name each.

    Raises:
        ConfigError: the name is none, the hub has no such file or refuses it, nothing answers, the disk is full, or
            the bytes are not those that the hub promised. What was fetched stays for the next try.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ConfigError(f"{name!r} names no GGUF file of the hub: write owner/repo:file.gguf")
    file_name = match["file"].rpartition("/")[2]
    target = to / file_name
    if target.exists():
        check_gguf(target)
        return target
    root = (base_url or env.get("HF_ENDPOINT") or HUB).rstrip("/")
    url = f"{root}/{match['repo']}/resolve/{quote(match['revision'] or 'main', safe='')}/{quote(match['file'])}"
    token = env.get("HF_TOKEN")
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with boundary(ConfigError, f"keep {file_name} in {to}"):
        os.makedirs(to, exist_ok=True)
        with locked(to / f"{file_name}.lock", say, file_name):
            if _size(target):
                return target
            async with aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=True) as session:
                part = await _whole(session, url, to / file_name, progress)
            check_gguf(part)
            os.replace(part, target)
    return target


async def _whole(session: aiohttp.ClientSession, url: str, target: Path, progress: Progress) -> Path:
    """The file under a temporary name, whole and checked. Gives up after failures in a row that brought no byte."""
    failures, most, part = 0, 0, None
    while True:
        try:
            remote = await _look(session, url)
            # The digest is in the name, so a part of yesterday's file is never continued with today's.
            part = target.with_name(f"{target.name}.{remote.digest[:16] or 'unknown'}.part")
            await _go_on(session, remote, part, progress)
            break
        except TransientModelError as cause:
            there = 0 if part is None else _size(part)
            failures, most = (1, there) if there > most else (failures + 1, most)
            if failures == _TRIES:
                raise ConfigError(
                    f"{cause}, {_TRIES} times. Run the same command again to go on from there; without the network, "
                    "a GGUF file from elsewhere works with --model gguf:PATH"
                ) from None
            await asyncio.sleep(_FIRST_PAUSE_S * 2 ** (failures - 1))
    if _SHA256.fullmatch(remote.digest) and (found := await asyncio.to_thread(_sha256, part)) != remote.digest:
        part.unlink()
        raise ConfigError(f"{url} came with SHA-256 {found} instead of {remote.digest}: thrown away; try again")
    return part


async def _look(session: aiohttp.ClientSession, url: str) -> _Remote:
    """Size and digest, which the hub tells in its own answer, before it redirects to where the bytes are."""
    with _network(url):
        async with session.head(url, allow_redirects=False) as response:
            _check(response, url)
            size = response.headers.get("X-Linked-Size")
            if size is None and response.status == 200:
                size = response.headers.get("Content-Length")
            tag = response.headers.get("X-Linked-ETag") or response.headers.get("ETag") or ""
    return _Remote(url, int(size) if size else None, re.sub(r"[^\w-]", "", tag.removeprefix("W/")))


async def _go_on(session: aiohttp.ClientSession, remote: _Remote, part: Path, progress: Progress) -> None:
    done = _size(part) if remote.digest else 0
    if remote.size_bytes is not None and done > remote.size_bytes:
        done = 0
    if done and done == remote.size_bytes:
        return
    headers = {"Range": f"bytes={done}-"} if done else {}
    with _network(remote.url):
        async with session.get(remote.url, headers=headers) as response:
            _check(response, remote.url)
            if response.status != 206:
                done = 0  # the server sends the whole file, whatever was asked
            with part.open("r+b" if done else "wb") as file:
                file.seek(done)
                file.truncate()
                async for block in response.content.iter_chunked(_BLOCK_BYTES):
                    file.write(block)
                    done += len(block)
                    progress(done, remote.size_bytes)
                file.flush()
                os.fsync(file.fileno())
    if remote.size_bytes is not None and done < remote.size_bytes:
        raise ReplyCut(f"{remote.url} ended after {done} of {remote.size_bytes} bytes")


class _network:  # noqa: N801 - reads as a block, like boundary
    """A block in which every failure of the network is a transient error that names ``url``."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, aiohttp.ClientPayloadError):
            raise ReplyCut(f"{self._url} was cut off") from None
        if isinstance(error, aiohttp.ClientConnectorError):
            raise ServerFailed(f"cannot reach {self._url} ({error.os_error.strerror or error.os_error})") from None
        if isinstance(error, aiohttp.ClientError | TimeoutError):
            raise ServerFailed(f"the connection to {self._url} broke ({type(error).__name__})") from None


def _check(response: aiohttp.ClientResponse, url: str) -> None:
    status = response.status
    if status < 400:
        return
    if status in (401, 403):
        raise ConfigError(
            f"{url} is not open (status {status}): set HF_TOKEN, accept the licence on its page, or check the name"
        )
    if status == 404:
        raise ConfigError(f"{url} does not exist (status 404): check owner/repo:file.gguf")
    if status >= 500 or status == 429:
        raise ServerFailed(f"{url} failed (status {status})")
    raise ConfigError(f"{url} was refused (status {status})")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
