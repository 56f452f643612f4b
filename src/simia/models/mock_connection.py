"""HTTP as the mock endpoint speaks it: one connection, one request at a time, and the shapes of its bodies."""

import asyncio
import re
import zlib
from typing import TYPE_CHECKING, Any

import orjson

from simia.models.mock_faults import FaultKind

if TYPE_CHECKING:
    from simia.models.mock_server import MockServer

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_KEY = re.compile(rb"\r\n(?:authorization:[ \t]*bearer|api-key:)[ \t]*([^\r\n]*)", re.IGNORECASE)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
_LARGEST = 256 * 1024 * 1024


class Connection(asyncio.Protocol):
    """One client connection: reads a request, waits its latency, answers, reads the next."""

    def __init__(self, server: "MockServer", loop: asyncio.AbstractEventLoop) -> None:
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
            if server.key is not None and shown_key(head) != server.key:
                self._write(401, error_body("Incorrect API key provided.", "invalid_api_key"))
            elif away:
                self._write(500, error_body("The server is away.", "server_error"))
            else:
                name = server.model or "mock"
                self._write(200, orjson.dumps({"object": "list", "data": [{"id": name, "object": "model"}]}))
        elif path == b"/stats":
            self._write(200, orjson.dumps(server.stats()))
        else:
            self._write(404, error_body("Not found.", "not_found"))

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
                self._finish(500, error_body("The server is away.", "server_error"), None)
            return
        if server.first_request_at is None:
            server.elapsed_s()
        fault = server.faults.draw()
        if fault == "429" or fault == "500":
            text = "Rate limit reached." if fault == "429" else "Internal server error."
            self._finish(int(fault), error_body(text, "mock_fault"), None)
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


def shown_key(head: bytes) -> bytes | None:
    """The key in the headers of a request."""
    found = _KEY.search(head)
    return None if found is None else found[1].strip()


def _response(status: int, body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s" % (
        status,
        _REASONS.get(status, "Error").encode(),
        more,
        len(body),
        body,
    )


def completion_parts(made: str | dict[str, Any], model: str = "mock") -> tuple[bytes, bytes]:
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


def error_body(message: str, code: str) -> bytes:
    """An error as vendors spell it."""
    return orjson.dumps({"error": {"message": message, "type": code, "code": code}})
