"""The parent's side of the embedded server: start it, know its limits, end it."""

import asyncio
import importlib.util
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import aiohttp

from simia.errors import ConfigError, ExtraMissing, boundary

_GGUF_MAGIC = b"GGUF"
_START_S = 600.0
_STOP_S = 5.0
_DYING_S = 0.5
_MOST_THREADS = 8
# Measured with SmolLM2 on two cores beside two busy processes: libgomp's default spinning decodes 1.2 tokens a
# second, this count 52; on idle cores 105 and 116.
_SPIN_COUNT = "1000"
_TAIL_BYTES = 16384


@dataclass(frozen=True)
class EmbeddedServer:
    """A running server. ``context`` is the most tokens of prompt and reply together, as the server itself reports it:
    at most what the model was trained for.
    """

    name: str
    url: str
    api_key: str = field(repr=False)
    slots: int
    context: int
    slot_folder: Path
    _process: asyncio.subprocess.Process = field(repr=False)
    _log: IO[bytes] = field(repr=False)

    @property
    def base_url(self) -> str:
        """The root of the OpenAI-compatible interface."""
        return f"{self.url}/v1"

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    @property
    def headers(self) -> dict[str, str]:
        """What every request must carry: other users of the machine do not have the key."""
        return _headers(self.api_key)

    async def death(self) -> str | None:
        """Why the child is gone, in one sentence, or None while it lives."""
        try:
            # A process that has just closed its connections needs a moment until it can be waited for.
            code = await asyncio.wait_for(self._process.wait(), _DYING_S)
        except TimeoutError:
            return None
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        words = [] if self._log.closed else _lines(self._log, 0)
        return f"the embedded server of {self.name} ended ({how}): {words[-1] if words else 'it left no message'}"

    def log_size(self) -> int:
        """How much the child has written to its log, as a mark for ``log_lines``."""
        return os.fstat(self._log.fileno()).st_size

    def log_lines(self, mark: int) -> list[str]:
        """What the child has written to its log since ``mark``, at most the last 16 KiB."""
        return _lines(self._log, mark)


@asynccontextmanager
async def serve(
    gguf: Path, *, slots: int = 2, context: int = 8192, threads: int | None = None, name: str | None = None
) -> AsyncIterator[EmbeddedServer]:
    """A server of ``gguf`` on a free port of the loopback interface, ended with the block or with this process.

    Args:
        slots: requests answered at the same time; memory grows with ``slots * context``.
        context: tokens per slot.
        threads: None takes the cores this process may use, eight at most.

    Raises:
        ExtraMissing: the extra ``local`` is not installed.
        ConfigError: the file is no GGUF, or llama.cpp cannot load it; the message holds its reason.
    """
    check_gguf(gguf)
    if importlib.util.find_spec("xllamacpp") is None:
        raise ExtraMissing("local", "running a model on this machine")
    shown, api_key = name or gguf.stem, secrets.token_urlsafe(24)
    options: dict[str, str | int] = {
        "gguf": str(gguf),
        "alias": shown,
        "slots": slots,
        "context": context,
        "threads": threads or min(_MOST_THREADS, usable_cores()),
        "api_key": api_key,
    }
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "simia.models.embedded.server",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env={**os.environ, "GOMP_SPINCOUNT": _SPIN_COUNT},
            start_new_session=True,  # Ctrl-C on the terminal must not reach it: requests in flight finish first
        )
        slot_folder: Path | None = None
        try:
            ready = await _ready(process, options, log)
            slot_folder = Path(ready["slot_folder"])
            with boundary(ConfigError, f"read the limits of the server of {gguf}"):
                per_slot = await _context_of_a_slot(ready["url"], api_key)
            yield EmbeddedServer(
                name=shown,
                url=ready["url"],
                api_key=api_key,
                slots=slots,
                context=per_slot,
                slot_folder=slot_folder,
                _process=process,
                _log=log,
            )
        finally:
            await _end(process)
            if slot_folder is not None:  # the child removes it itself, unless it was killed
                shutil.rmtree(slot_folder, ignore_errors=True)


def check_gguf(path: Path) -> None:
    """Nothing, if the file starts as a GGUF does.

    Raises:
        ConfigError: it is missing, unreadable, or something else.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_GGUF_MAGIC))
    except OSError as cause:
        raise ConfigError(f"cannot read the model {path}: {cause.strerror}; gguf:PATH wants a GGUF file") from cause
    if magic != _GGUF_MAGIC:
        raise ConfigError(f"{path} is no GGUF file (it starts with {magic!r}): convert the model, or check the path")


def usable_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


async def _ready(
    process: asyncio.subprocess.Process, options: Mapping[str, str | int], log: IO[bytes]
) -> dict[str, str]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(options).encode() + b"\n")
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_S)
    except TimeoutError:
        reason = f"it was not loaded within {_START_S:.0f} s"
        raise ConfigError(f"llama.cpp cannot serve {options['gguf']}: {reason}; take a smaller model") from None
    if not line:
        await process.wait()
        raise ConfigError(f"llama.cpp cannot serve {options['gguf']}: {_why_not_loaded(log)}")
    ready: dict[str, str] = json.loads(line)
    return ready


async def _context_of_a_slot(url: str, api_key: str) -> int:
    async with (
        aiohttp.ClientSession(headers=_headers(api_key), raise_for_status=True) as session,
        session.get(f"{url}/slots") as response,
    ):
        slots = await response.json()
    return min(int(slot["n_ctx"]) for slot in slots)


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def _headers(api_key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"}


def _why_not_loaded(log: IO[bytes]) -> str:
    """llama.cpp's first error, which is the cause of the later ones; without one, the last line."""
    lines = _lines(log, 0)
    for line in lines:
        if " E " in line:
            return line.split(" E ", 1)[1].strip()
    if any("libgomp" in line for line in lines):
        return "the system library libgomp is missing (on Debian: apt install libgomp1)"
    return lines[-1] if lines else "it left no message"


def _lines(log: IO[bytes], mark: int) -> list[str]:
    # The child writes through the same open file, so its position must not be moved: pread.
    end = os.fstat(log.fileno()).st_size
    start = max(mark, end - _TAIL_BYTES)
    text = os.pread(log.fileno(), end - start, start).decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]
