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

from simia.errors import ConfigError
from simia.models.mock_faults import FAULT_KINDS, FaultKind, Faults, Latency, Outage, read_kinds

Responder = Callable[[dict[str, Any]], str | dict[str, Any] | tuple[int, dict[str, Any]]]
"""From a parsed request body to a text, to a whole ``message`` object, or to a status and a whole body."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_KEY = re.compile(rb"\r\n(?:authorization:[ \t]*bearer|api-key:)[ \t]*([^\r\n]*)", re.IGNORECASE)
_MODEL = re.compile(rb'"model"\s*:\s*"((?:[^"\\]|\\.)*)"')
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
_LARGEST = 256 * 1024 * 1024


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
        self.bodies = [] if callable(replies) else [_completion_parts(text, model or "mock") for text in replies]
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
        self.connections: set[_Connection] = set()
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
        self._server = await loop.create_server(lambda: _Connection(self, loop), "127.0.0.1", self.port, backlog=4096)
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
        before, after = _completion_parts(made, str(asked.get("model", "mock")))
        return 200, before + str(len(body) // 4).encode() + after

    def _refused(self, head: bytes, body: bytes) -> tuple[int, bytes] | None:
        if self.key is not None:
            shown = _KEY.search(head)
            if shown is None or shown[1].strip() != self.key:
                return 401, _error("Incorrect API key provided.", "invalid_api_key")
        asked = _MODEL.search(body)
        if self.model is not None and (asked is None or asked[1].decode() != self.model):
            name = asked[1].decode("utf-8", "replace") if asked else ""
            return 404, _error(f"The model `{name}` does not exist.", "model_not_found")
        if b'"response_format"' in body and (
            self.structured == "off" or (self.structured == "json_object" and b'"json_schema"' in body)
        ):
            return 400, _error("This response_format type is unavailable now", "invalid_request_error")
        if self.context is not None and len(body) // 4 > self.context:
            return 400, _error(
                f"This model's maximum context length is {self.context} tokens. However, your messages resulted in "
                f"{len(body) // 4} tokens. Please reduce the length of the messages.",
                "context_length_exceeded",
            )
        return None


class _Connection(asyncio.Protocol):
    """One client connection: reads a request, waits its latency, answers, reads the next."""

    def __init__(self, server: MockServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._need = 0
        self._busy = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._busy:
            self._busy = False
            self._server.in_flight -= 1
        self._transport = None

    def abort(self) -> None:
        """Break the connection."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._busy and len(self._buffer) >= self._need:
            self._take()

    def _take(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end])
        length = _LENGTH.search(head)
        size = int(length[1]) if length else 0
        if size > _LARGEST:
            self.abort()
            return
        self._need = end + 4 + size
        if len(self._buffer) < self._need:
            return
        body = bytes(self._buffer[end + 4 : self._need])
        del self._buffer[: self._need]
        self._need = 0
        self._route(head, body)

    def _route(self, head: bytes, body: bytes) -> None:
        server = self._server
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method == b"POST" and path.endswith(b"/chat/completions"):
            self._chat(head, body)
        elif path.endswith(b"/models"):
            away = server.outage is not None and server.outage.covers(server.elapsed_s())
            if server.key is not None and ((shown := _KEY.search(head)) is None or shown[1].strip() != server.key):
                self._write(401, _error("Incorrect API key provided.", "invalid_api_key"))
            elif away:
                self._write(500, _error("The server is away.", "server_error"))
            else:
                name = server.model or "mock"
                self._write(200, orjson.dumps({"object": "list", "data": [{"id": name, "object": "model"}]}))
        elif path == b"/stats":
            self._write(200, orjson.dumps(server.stats()))
        else:
            self._write(404, _error("Not found.", "not_found"))

    def _chat(self, head: bytes, body: bytes) -> None:
        server = self._server
        self._busy = True
        server.requests += 1
        server.in_flight += 1
        server.most_in_flight = max(server.most_in_flight, server.in_flight)
        if server.outage is not None and server.outage.covers(server.elapsed_s()):
            if server.outage.kind == "down":
                self.abort()
            else:
                self._finish(500, _error("The server is away.", "server_error"), None)
            return
        if server.first_request_at is None:
            server.elapsed_s()
        fault = server.faults.draw()
        if fault == "429" or fault == "500":
            text = "Rate limit reached." if fault == "429" else "Internal server error."
            self._finish(int(fault), _error(text, "mock_fault"), None)
            return
        if fault == "stall":
            self._timer = self._loop.call_later(server.stall_s, self.abort)
            return
        status, answer = server.answer(head, body)
        wait = server.latency.draw(server.faults.rng) if status == 200 else 0.0
        if wait > 0:
            self._timer = self._loop.call_later(wait, self._finish, status, answer, fault)
        else:
            self._finish(status, answer, fault)

    def _finish(self, status: int, body: bytes, fault: FaultKind | None) -> None:
        server = self._server
        self._timer = None
        if self._transport is None:
            return
        if fault == "cut":
            self._transport.write(_response(status, body)[: -len(body) // 2])
            self._transport.close()
            return
        if status == 429:
            self._write(status, body, b"Retry-After: %g\r\n" % server.retry_after_s)
        else:
            self._write(status, body[: len(body) // 2] if fault == "truncated" else body)
        server.by_status[status] += 1
        if status == 200 and fault is None:
            server.finished_by_second[int(server.elapsed_s())] += 1
        server.in_flight -= 1
        self._busy = False
        if self._buffer:
            self._take()

    def _write(self, status: int, body: bytes, more: bytes = b"") -> None:
        if self._transport is not None:
            self._transport.write(_response(status, body, more))


def _response(status: int, body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s" % (
        status,
        _REASONS.get(status, "Error").encode(),
        more,
        len(body),
        body,
    )


def _completion_parts(made: str | dict[str, Any], model: str = "mock") -> tuple[bytes, bytes]:
    """A completion around the number of prompt tokens, which depends on the request."""
    message = made if isinstance(made, dict) else {"role": "assistant", "content": made}
    text = orjson.dumps(message)
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    before = (
        b'{"id":"chatcmpl-%08x","object":"chat.completion","created":0,"model":%s,"choices":[{"index":0,"message":%s,'
        b'"finish_reason":"%s"}],"usage":{"completion_tokens":%d,"prompt_tokens":'
        % (zlib.crc32(text), orjson.dumps(model), text, finish.encode(), len(text) // 4)
    )
    return before, b"}}"


def _error(message: str, code: str) -> bytes:
    return orjson.dumps({"error": {"message": message, "type": code, "code": code}})


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until terminated. The first line on stdout is the base URL; statistics are at GET /stats."""
    parser = argparse.ArgumentParser(prog="python -m simia.models.mock_server", description=__doc__)
    parser.add_argument("replies", type=Path, nargs="?", help="JSON Lines; each line one reply")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", help="serve only this name")
    parser.add_argument("--latency", default="0", help="0, fixed:SECONDS or lognormal:MEAN[:SIGMA]")
    parser.add_argument("--fault-rate", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--fault-kinds", default=",".join(FAULT_KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--outage", help="START:LENGTH[:down], seconds from the first request")
    parser.add_argument("--stall", type=float, default=600.0, help="seconds until a stalled request is cut off")
    parser.add_argument("--retry-after", type=float, default=0.1)
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
    if sys.platform == "win32":
        asyncio.run(_serve(server))
    else:
        import uvloop

        uvloop.run(_serve(server))
    return 0


if __name__ == "__main__":
    sys.exit(main())
