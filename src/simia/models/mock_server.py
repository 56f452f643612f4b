"""An OpenAI-compatible endpoint on loopback that answers from a file and misbehaves on demand.

``python -m simia.models.mock_server --latency lognormal:2.0 --fault-rate 0.05 --outage 20:30 replies.jsonl``

For rehearsing a run, for tests and for benchmarks. It is one asyncio protocol without a web framework, so that one
core serves several thousand replies a second and the client is what a benchmark measures. It speaks as much HTTP/1.1
as the clients of such endpoints use: requests with a Content-Length on connections that stay open, no pipelining.
"""

import argparse
import asyncio
import re
import signal
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import uvloop

from simia.errors import ConfigError
from simia.models.mock_connection import Connection, completion_parts, error_body, shown_key
from simia.models.mock_faults import FAULT_KINDS, Faults, Latency, Outage, read_kinds

Responder = Callable[[dict[str, Any]], str | dict[str, Any] | tuple[int, dict[str, Any]]]
"""From a parsed request body to a text, to a whole ``message`` object, or to a status and a whole body."""

_MODEL = re.compile(rb'"model"\s*:\s*"((?:[^"\\]|\\.)*)"')


class MockServer:
    """A mock endpoint inside the running loop: ``async with MockServer(["{}"]) as server: server.base_url``.

    Args:
        replies: texts, picked by a hash of the request body; or a function of the parsed body.
        model: the one model that it serves; None serves any name.
        latency, faults, outage: see ``mock_faults``.
        stall_s: after so long a stalled request's connection is closed.
        retry_after_s: what a 429 asks for.
        structured: ``schema`` takes any ``response_format``, ``json_object`` only that, ``off`` none.
        context: tokens, of which four bytes of the request's body make one; beyond, status 400 as from vLLM.
        key: requests without this key get status 401.
        port: 0 takes a free one.
    """

    def __init__(
        self,
        replies: Sequence[str] | Responder,
        *,
        model: str | None = None,
        latency: Latency | None = None,
        faults: Faults | None = None,
        outage: Outage | None = None,
        stall_s: float = 600.0,
        retry_after_s: float = 0.1,
        structured: str = "schema",
        context: int | None = None,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        if not callable(replies) and not replies:
            raise ConfigError("the mock endpoint has no replies: give it at least one text")
        self.responder = replies if callable(replies) else None
        self.bodies = [] if callable(replies) else [completion_parts(text, model or "mock") for text in replies]
        self.model = model
        self.latency = latency or Latency()
        self.faults = faults or Faults()
        self.outage = outage
        self.stall_s = stall_s
        self.retry_after_s = retry_after_s
        self.structured = structured
        self.context = context
        self.key = key.encode() if key else None
        self.checks = bool(model or structured != "schema" or context or key)
        self.port = port
        self.connections: set[Connection] = set()
        self.by_status: Counter[int] = Counter()
        self.finished_by_second: Counter[int] = Counter()
        self.requests = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.first_request_at: float | None = None
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self, loop), "127.0.0.1", self.port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for connection in list(self.connections):
            connection.abort()
        if server is not None:
            await server.wait_closed()

    def elapsed_s(self) -> float:
        """Seconds since the first request."""
        now = time.monotonic()
        if self.first_request_at is None:
            self.first_request_at = now
        return now - self.first_request_at

    def stats(self) -> dict[str, Any]:
        """What was asked and answered so far. ``finished_by_second`` counts whole answers per second."""
        return {
            "requests": self.requests,
            "by_status": {str(status): count for status, count in sorted(self.by_status.items())},
            "faults": dict(self.faults.counts),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "connections": len(self.connections),
            "elapsed_s": 0.0 if self.first_request_at is None else round(self.elapsed_s(), 3),
            "finished_by_second": {str(second): n for second, n in sorted(self.finished_by_second.items())},
            "cpu_s": round(time.process_time(), 3),
        }

    def answer(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Status and body for a chat request, faults aside."""
        if self.checks:
            refused = self._refused(head, body)
            if refused is not None:
                return refused
        if self.responder is None:
            before, after = self.bodies[zlib.crc32(body) % len(self.bodies)]
            return 200, before + str(len(body) // 4).encode() + after
        asked = orjson.loads(body)
        made = self.responder(asked)
        if isinstance(made, tuple):
            return made[0], orjson.dumps(made[1])
        before, after = completion_parts(made, str(asked.get("model", "mock")))
        return 200, before + str(len(body) // 4).encode() + after

    def _refused(self, head: bytes, body: bytes) -> tuple[int, bytes] | None:
        if self.key is not None and shown_key(head) != self.key:
            return 401, error_body("Incorrect API key provided.", "invalid_api_key")
        asked = _MODEL.search(body)
        if self.model is not None and (asked is None or asked[1].decode() != self.model):
            name = asked[1].decode("utf-8", "replace") if asked else ""
            return 404, error_body(f"The model `{name}` does not exist.", "model_not_found")
        if b'"response_format"' in body and (
            self.structured == "off" or (self.structured == "json_object" and b'"json_schema"' in body)
        ):
            return 400, error_body("This response_format type is unavailable now", "invalid_request_error")
        if self.context is not None and len(body) // 4 > self.context:
            return 400, error_body(
                f"This model's maximum context length is {self.context} tokens. However, your messages resulted in "
                f"{len(body) // 4} tokens. Please reduce the length of the messages.",
                "context_length_exceeded",
            )
        return None


def read_replies(path: Path) -> list[str]:
    """Texts from a JSON Lines file: each line a string, or any other JSON, which is then the text itself.

    Raises:
        ConfigError: the file is missing, empty, or a line is no JSON.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as cause:
        raise ConfigError(f"cannot read the replies {path}: {cause.strerror}") from None
    texts = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as cause:
            raise ConfigError(f"{path}:{number}: no JSON: {cause}") from None
        texts.append(value if isinstance(value, str) else line.decode())
    if not texts:
        raise ConfigError(f"{path} holds no reply: write one JSON string on each line")
    return texts


async def _serve(server: MockServer) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    async with server:
        print(server.base_url, flush=True)
        await stop.wait()
    print(orjson.dumps(server.stats()).decode(), file=sys.stderr)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m simia.models.mock_server") -> int:
    """Serve until terminated, as the command ``prog``. The first line on stdout is the base URL; statistics are at
    GET /stats while it serves, and on stderr at its end.
    """
    parser = argparse.ArgumentParser(
        prog=prog,
        description="An OpenAI-compatible endpoint on loopback that answers from a file and misbehaves on demand.",
        epilog=f"example: {prog} --latency lognormal:2.0 --fault-rate 0.05 --outage 20:30 replies.jsonl",
    )
    parser.add_argument(
        "replies",
        type=Path,
        nargs="?",
        help="JSON Lines, each line one reply: a JSON string, or other JSON as it stands; without it all are {}",
    )
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--model", help="serve only this name")
    parser.add_argument("--latency", default="0", help="0, fixed:SECONDS or lognormal:MEAN[:SIGMA]")
    parser.add_argument("--fault-rate", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--fault-kinds", default=",".join(FAULT_KINDS), help="some of: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="which requests meet a fault follows from it")
    parser.add_argument("--outage", help="START:LENGTH[:down], seconds from the first request")
    parser.add_argument("--stall", type=float, default=600.0, help="seconds until a stalled request is cut off")
    parser.add_argument("--retry-after", type=float, default=0.1, help="seconds that a 429 asks to wait")
    parser.add_argument("--no-structured", action="store_true", help="refuse response_format")
    parser.add_argument("--context", type=int, help="refuse longer requests, in tokens of four bytes")
    parser.add_argument("--require-key", help="refuse requests without this key")
    options = parser.parse_args(arguments)
    try:
        server = MockServer(
            read_replies(options.replies) if options.replies else ["{}"],
            model=options.model,
            latency=Latency.read(options.latency),
            faults=Faults(options.fault_rate, read_kinds(options.fault_kinds), options.seed),
            outage=Outage.read(options.outage) if options.outage else None,
            stall_s=options.stall,
            retry_after_s=options.retry_after,
            structured="off" if options.no_structured else "schema",
            context=options.context,
            key=options.require_key,
            port=options.port,
        )
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    uvloop.run(_serve(server))
    return 0


if __name__ == "__main__":
    sys.exit(main())
