"""The walls that Python holds: limits that every POSIX system has, and a hook that knows an attempt by its name.

The hook is for the report. Python code that means to gets around it, and then the kernel's wall stands. Where there is
none, what stays are the limits: no descriptor can be opened, no file can grow, no process started. They do not bind
root, so root becomes nobody.
"""

import io
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

FILES = "files"
IMPORTS = "imports"
NATIVE = "native code"
NETWORK = "network"
OUTPUT = "output"
PROCESSES = "processes"
WALLS = (FILES, IMPORTS, NATIVE, NETWORK, OUTPUT, PROCESSES)
"""What :func:`watch` and its kin report. Time and memory are for the parent to tell."""

_NOBODY = 65534

Stop = Callable[[str, str], Any]
"""Takes the wall and the attempt, and does not come back."""

# What a module is for, by its first name. It also begins the name of the events that the module announces.
_MODULES = {
    "_posixsubprocess": PROCESSES,
    "_socket": NETWORK,
    "_ctypes": NATIVE,
    "aiohttp": NETWORK,
    "asyncio": NETWORK,
    "concurrent": PROCESSES,
    "ctypes": NATIVE,
    "fcntl": FILES,
    "ftplib": NETWORK,
    "glob": FILES,
    "http": NETWORK,
    "httpx": NETWORK,
    "imaplib": NETWORK,
    "mmap": FILES,
    "multiprocessing": PROCESSES,
    "pathlib": FILES,
    "poplib": NETWORK,
    "pty": PROCESSES,
    "requests": NETWORK,
    "resource": PROCESSES,
    "shutil": FILES,
    "signal": PROCESSES,
    "smtplib": NETWORK,
    "socket": NETWORK,
    "sqlite3": FILES,
    "ssl": NETWORK,
    "subprocess": PROCESSES,
    "syslog": PROCESSES,
    "tempfile": FILES,
    "urllib": NETWORK,
}
# Other events of https://docs.python.org/3/library/audit_events.html; what is not here of os is about files.
_EVENTS = {
    "builtins.input": FILES,
    "code.__new__": NATIVE,
    "marshal.load": NATIVE,
    "marshal.loads": NATIVE,
    "open": FILES,
    "os.exec": PROCESSES,
    "os.fork": PROCESSES,
    "os.forkpty": PROCESSES,
    "os.kill": PROCESSES,
    "os.killpg": PROCESSES,
    "os.posix_spawn": PROCESSES,
    "os.spawn": PROCESSES,
    "os.system": PROCESSES,
    "sys.remote_exec": PROCESSES,
}
# What has no event, or not in every version of Python.
_UNANNOUNCED = {
    "_thread.start_joinable_thread": PROCESSES,
    "_thread.start_new_thread": PROCESSES,
    "os.access": FILES,
    "os.fstat": FILES,
    "os.getcwd": FILES,
    "os.getppid": PROCESSES,
    "os.lstat": FILES,
    "os.readlink": FILES,
    "os.stat": FILES,
    "os.statvfs": FILES,
    "threading._start_joinable_thread": PROCESSES,
    "threading._start_new_thread": PROCESSES,
}


class Silence(io.TextIOBase):
    """Takes the place of stdout and stderr: what strange code prints goes nowhere, and too much of it stops it."""

    def __init__(self, most: int, stop: Stop) -> None:
        self._most = most
        self._stop = stop
        self.printed = 0

    def write(self, text: str) -> int:
        """Count ``text``, and forget it."""
        self.printed += len(text)
        if self.printed > self._most:
            self._stop(OUTPUT, f"print more than {self._most} characters in one call")
        return len(text)


def silence(most: int, stop: Stop) -> Silence:
    """Put silence in place of the standard streams, which are ``/dev/null`` below it."""
    quiet = Silence(most, stop)
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        setattr(sys, name, quiet)
    sys.stdin = io.StringIO()
    sys.unraisablehook = lambda _: None  # it would open the files whose lines it quotes
    return quiet


def limit(memory: int, seconds: int) -> None:
    """Limit address space in bytes and processor time; nothing can be opened, written to a file, dumped or started."""
    for name, most in {
        "RLIMIT_AS": memory,
        "RLIMIT_CPU": seconds,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": 0,
        "RLIMIT_NOFILE": 0,
    }.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(kind, (allowed, allowed))


def give_up_root() -> bool:
    """Become nobody, if this is root. Whether this is an ordinary user then."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
        with suppress(OSError):  # a container may know no such user, or forbid it
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
    return os.geteuid() != 0


def wall_of_import(name: str) -> str:
    """The wall that an import of the module runs into: what the module is for, where that is known."""
    return _MODULES.get(name.partition(".")[0], IMPORTS)


def watch(stop: Stop) -> None:
    """From now on, and for ever, call ``stop`` when Python announces one of the events above, or would not."""
    for name, wall in _UNANNOUNCED.items():
        module, _, function = name.rpartition(".")
        for place in {sys.modules[module], sys.modules["posix" if module == "os" else module]}:
            if hasattr(place, function):
                setattr(place, function, _stopper(stop, wall, name))
    events, families = dict(_EVENTS), {**_MODULES, "os": FILES}

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        first = arguments[0] if arguments else None
        if event == "import":
            if not str(first).startswith("encodings."):  # a codec that is not loaded; its import fails
                stop(wall_of_import(str(first)), f"import {first}")
            return
        if event == "open" and _told(first).startswith("'<"):
            raise FileNotFoundError(first)  # how Python looks for the line of an error in a text that is no file
        wall = events.get(event) or families.get(event.partition(".")[0])
        if wall is not None:
            stop(wall, f"{event} {_told(first)}".strip())

    sys.addaudithook(hook)


def _stopper(stop: Stop, wall: str, name: str) -> Callable[..., Any]:
    return lambda first=None, *_, **__: stop(wall, f"{name} {_told(first)}".strip())


def _told(value: Any) -> str:
    return repr(value) if type(value) in (str, bytes, int) else ""
