"""Strange code that can be asked again and again, whatever it does: each child that ran into a wall is replaced."""

import threading
import time
import weakref
from contextlib import ExitStack

from simia.errors import ConfigError, FormatError, SandboxViolation
from simia.formats.calls import dump_json, load_json
from simia.types import JsonObject
from simia.worlds.sandbox.limits import Limits
from simia.worlds.sandbox.process import Child, Stopped
from simia.worlds.sandbox.reply import read_reply

_MIB = 1 << 20
_START_S = 60.0
# By this a child ends that outlives its parent in an endless loop. Others are replaced before they come near.
_PROCESSOR_S = 120

_OWN = "an environment lives in its own attributes: take that out of its code"
_ADVICE = {
    "imports": "only modules of the standard library that compute may be imported (docs/adr/0007)",
    "memory": "let it hold less, or, in Python, give more by Limits(memory_mib=...)",
    "output": "let it keep, return and print less, or, in Python, take more by Limits(reply_mib=...)",
    "reply": "it keeps or returns what has no JSON, or wrote the answer itself: read the code before you use it again",
    "time": "let it end, or, in Python, wait longer by Limits(seconds=...)",
}


class Guard:
    """A strange class, called ``name`` in errors, behind the walls of child processes that are started as needed."""

    def __init__(self, name: str, code: str, class_name: str, limits: Limits, now: float) -> None:
        self._name = name
        self._limits = limits
        setup = {
            "code": code,
            "class": class_name,
            "now": now,
            "printed": limits.reply_mib * _MIB,
            "memory": limits.memory_mib * _MIB,
            "processor": _PROCESSOR_S + int(limits.seconds) + 1,
        }
        self._setup = f"{dump_json(setup)}\n".encode()
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._used = 0.0
        self._asked = 0
        self.walls: tuple[str, ...] = ()

    def ask(self, doing: str, request: JsonObject, state: JsonObject | None = None) -> JsonObject:
        """The reply to ``request``, which with a ``state`` is a call, in the shape that
        :func:`~simia.worlds.sandbox.reply.read_reply` knows. ``doing`` says in an error what it was for.

        Raises:
            SandboxViolation: the code ran into a wall.
            ConfigError: no child can be started.
        """
        with self._lock:
            child = self._running()
            self._asked += 1
            lines = [{"id": self._asked, **request}] if state is None else [{"id": self._asked, **request}, state]
            text = "".join(f"{dump_json(line)}\n" for line in lines)
            begun = time.monotonic()
            with ExitStack() as unanswered:
                unanswered.callback(self._end)  # what nobody waited for must not answer the next request
                try:
                    line = child.exchange(text.encode(), self._limits.seconds)
                    reply = read_reply(line, self._asked, of_call=state is not None, most_mib=self._limits.reply_mib)
                except Stopped as cause:
                    raise self._violation(doing, cause) from None
                unanswered.pop_all()
            self._used += time.monotonic() - begun
            return reply

    def close(self) -> None:
        """End the child. The next request starts another."""
        with self._lock:
            self._end()

    def _running(self) -> Child:
        if self._used > _PROCESSOR_S:
            self._end()
        if self._child is None:
            try:
                self._child = Child(self._limits.reply_mib * _MIB)
                self._finalizer = weakref.finalize(self, self._child.end)
                self.walls = (
                    "time limit",
                    "reply limit",
                    *load_json(self._child.exchange(self._setup, _START_S))["walls"],
                )
            except (OSError, Stopped, FormatError) as cause:
                self._end()
                raise ConfigError(
                    f"the sandbox of the world {self._name!r} does not start: {cause}; it needs the Python that runs "
                    "simia with its whole standard library"
                ) from cause
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._finalizer()
            self._child = None
            self._used = 0.0

    def _violation(self, doing: str, stopped: Stopped) -> SandboxViolation:
        advice = _ADVICE.get(stopped.wall, _OWN)
        return SandboxViolation(
            f"{doing} in the world {self._name!r} was stopped ({stopped.wall}: {stopped}): {advice}",
            stopped.wall,
        )
