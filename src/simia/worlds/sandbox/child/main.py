"""The child process of a sandbox: it reads how it is to be set up, closes the walls, and answers requests.

The first line is the setup. Then each request is a line, a call followed by a second one with the state:

- ``{"id"}`` asks what the class is: ``{"id", "tools", "state"}``, the state of a new instance;
- ``{"id", "seed", "tool", "arguments"}`` and a state: ``{"id", "result", "state"}``, the state null if it is the same.

What the class raises is ``{"id", "error"}``. A wall is ``{"wall", "attempt"}`` and the end of the process; memory, of
which there may be none left to say so, is an exit code alone. Nothing is kept between requests but a module that has
not changed.
"""

import decimal
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

from . import kernel
from .frozen import freeze
from .modules import builtins_with, load
from .plain import NoJson, text_of
from .schemas import tools_of
from .strange import Strange
from .walls import give_up_root, limit, silence, wall_of_import, watch
from .wire import MOST_TOLD, OUT_OF_MEMORY, Wire, dumps, loads

_RECURSION = 1000

_exit = os._exit


def main(requests: int, replies: int) -> None:
    """Answer the requests of the one pipe in the other until the parent is gone."""
    wire = Wire(requests, replies)
    setup = loads(wire.line() or "null")
    begin = freeze(setup["now"])
    closing = kernel.prepared(requests, replies)
    load()
    quiet = silence(setup["printed"], wire.stop)
    limit(setup["memory"], setup["processor"])
    walls = {"resource limits": True, "audit hook": True, "ordinary user": give_up_root(), "seccomp": closing()}
    watch(wire.stop)
    gc.freeze()
    wire.send(dumps({"walls": [name for name, stands in walls.items() if stands]}))

    builtins = builtins_with(lambda name: wire.stop(wall_of_import(name), f"import {name}"))
    answers = _Answers(setup["code"], setup["class"], builtins, begin)
    try:
        while (line := wire.line()) is not None:
            request = loads(line)
            state = (wire.line() or "") if "tool" in request else ""
            quiet.printed = 0
            decimal.setcontext(decimal.Context())
            if "calendar" in sys.modules:  # imported too early, it would bring the real clock along
                sys.modules["calendar"].setfirstweekday(0)
            sys.setrecursionlimit(_RECURSION)
            wire.send(f'{{"id":{request["id"]},{answers.to(request, state)}}}')
    except MemoryError:
        _exit(OUT_OF_MEMORY)
    _exit(0)  # the interpreter's own way of ending asks the kernel for more


class _Answers:
    def __init__(self, code: str, name: str, builtins: dict[str, Any], begin: Callable[[int], None]) -> None:
        self._given = code, name, builtins, begin
        self._strange: Strange | None = None

    def to(self, request: dict[str, Any], state: str) -> str:
        """The members of the reply, as JSON text.

        Raises:
            MemoryError: there is no more.
        """
        try:
            if self._strange is None:
                self._strange = Strange(*self._given)
            if "tool" not in request:
                return _described(self._strange)
            result, after = self._strange.call(request["tool"], request["arguments"], state, request["seed"])
            return f'"result":{text_of(result, "the result")},"state":{after or "null"}'
        except MemoryError:
            raise
        except NoJson as reason:
            return f'"error":{_told(str(reason))}'
        except BaseException as raised:  # noqa: BLE001 - SystemExit too: it decides about no process
            return f'"error":{_told(_sentence(raised))}'


def _described(strange: Strange) -> str:
    found = strange.load()
    return f'"tools":{text_of(tools_of(found), "the tools")},"state":{strange.fresh(found)}'


def _sentence(raised: BaseException) -> str:
    try:
        return f"{type(raised).__name__}: {raised}"
    except Exception:  # noqa: BLE001 - its __str__ is strange, too
        return type(raised).__name__


def _told(text: str) -> str:
    return dumps(text.encode(errors="replace").decode()[:MOST_TOLD])
