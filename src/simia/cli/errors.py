"""How an error leaves the program: one line on stderr and an exit code. A traceback only with ``--debug``."""

import errno
import sys
from collections.abc import Sequence
from enum import IntEnum

from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    FormatError,
    ManifestMismatch,
    ModelNotFound,
    RecordError,
    RunLocked,
    SchemaError,
    SimiaError,
    StructuredOutputUnsupported,
)


class ExitCode(IntEnum):
    """What a shell script may rely on."""

    DONE = 0
    SOME_FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


_USAGE_ERRORS: Sequence[type[SimiaError]] = (
    AuthenticationFailed,
    ConfigError,
    FormatError,
    ManifestMismatch,
    ModelNotFound,
    RecordError,
    RunLocked,
    SchemaError,
    StructuredOutputUnsupported,
)


def exit_code_of(error: SimiaError) -> ExitCode:
    """2 where another try needs another command or another setting, 1 where the same command may go on later."""
    return ExitCode.USAGE if isinstance(error, tuple(_USAGE_ERRORS)) else ExitCode.SOME_FAILED


def one_line(text: str) -> str:
    """``text`` without line breaks and without control characters, which a server's message may bring along."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def tell(error: BaseException) -> None:
    """Write ``error: ...`` to stderr, in one line."""
    print(f"error: {one_line(str(error)) or type(error).__name__}", file=sys.stderr, flush=True)


def tell_os_error(error: OSError) -> None:
    """The same for the operating system's errors, which name their file apart from their reason."""
    reason = error.strerror or type(error).__name__
    if error.filename is not None:
        where = f"use {error.filename}"
    else:
        where = "write the output" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else "go on"
    tell(SimiaError(f"cannot {where}: {reason}"))
