"""The client of an OpenAI-compatible chat-completions endpoint: a vendor, Azure, vLLM, SGLang, llama.cpp, Ollama.

One attempt per call: trying again, limiting and counting are the wrappers' (see ``stack``). aiohttp and orjson instead
of a vendor's SDK, because an SDK costs ten times the CPU per request.
"""

import re
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from simia.errors import (
    FormatError,
    ModelError,
    ModelTimeout,
    ReplyCut,
    RequestRefused,
    ServerFailed,
    StructuredOutputUnsupported,
)
from simia.models.address import Address, usable_key
from simia.models.answers import load_body, read_completion
from simia.models.refusals import Asked, refusal
from simia.models.settings import Structured
from simia.models.wire import MAY_GO, Dialect, Mode, RequestWriter
from simia.types import ChatReply, ChatRequest, JsonObject

_MODES: dict[Structured, tuple[Mode, ...]] = {
    "auto": ("schema", "json_object", "off"),
    "schema": ("schema",),
    "json_object": ("json_object",),
    "off": ("off",),
}
_CONNECT_S = 30.0
# Two such replies in a row are no accident of one draw.
_IGNORED_REPLIES = 2
_REFUSED_SCHEMAS = 3
# As OpenAI, Azure, Anthropic, Moonshot and servers on pydantic say that they do not take a field, near its name.
_NOT_TAKEN = (
    r"(?:unsupported|not supported|does not support|not permitted|not allowed|extra[ _]|unknown|unrecognized|"
    r"unexpected|deprecated|only the default|only 1 is|cannot both be)"
)
_REFUSES = {
    field: re.compile(rf"\b{field}\b[^.]{{0,80}}{_NOT_TAKEN}|{_NOT_TAKEN}[^.]{{0,60}}\b{field}\b", re.IGNORECASE)
    for field in MAY_GO
}


class EndpointModel:
    """A model behind an address. Use it as an async context manager; the connections live as long as the block.

    What the server was found to understand (how a schema is enforced, what the length limit is called) is remembered
    for the life of the object, so each discovery costs one refused request. ``say`` is told of each that changes what
    a model answers.

    Under a ``response_schema`` the first replies to each schema are checked (``ShapeWatch``); where the server does not
    keep to it, later requests ask for less and say the schema in words. A reply is never withheld for that: whether it
    can be used is decided by whoever asked, who reads every one.

    Args:
        name: the model's name at the endpoint.
        base_url: as ``Address.of`` takes it.
        key: the API key. It appears in no message, no representation and no file.
        key_name: the environment variable that the key came from, for messages.
        timeout_s: until the whole answer has arrived.

    Raises:
        ConfigError: ``base_url`` or ``key`` cannot be used.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        key: str | None = None,
        key_name: str = "OPENAI_API_KEY",
        timeout_s: float = 600.0,
        structured: Structured = "auto",
        api_version: str | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        key = usable_key(key, key_name)
        self._name = name
        self._address = Address.of(base_url, api_version=api_version)
        self._asked = Asked(shown=self._address.shown, model=name, key=key, key_name=key_name)
        self._headers = {"Content-Type": "application/json", **self._address.headers(key)}
        self._url = URL(self._address.chat, encoded=True)
        self._timeout_s = timeout_s
        # Less than the whole time, so that a host that does not answer is told from a model that is slow.
        self._connect_s = min(_CONNECT_S, timeout_s / 2)
        self._writer = RequestWriter()
        self._dialect = Dialect(modes=_MODES[structured])
        self._may_step_down = structured == "auto"
        self._ignored = 0
        self._refused_schemas: Counter[Mode] = Counter()
        self._taken: set[Mode] = set()
        self._keeps_schemas = False
        self._say = say
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"EndpointModel({self._name!r}, {self._address.shown!r})"

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._name

    @property
    def address(self) -> Address:
        """Where the endpoint is."""
        return self._address

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=60.0),
            timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=self._connect_s),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=_needs_proxy(self._address),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer to ``request``, asked once (again only to learn what the server understands).

        Raises:
            ModelError: the drawn kind of what went wrong.
        """
        while True:
            dialect = self._dialect
            mode = self._writer.mode(request, dialect)
            status, headers, data = await self._post(self._writer.body(request, dialect, mode))
            if status == 200:
                self._taken.add(mode)
                return self._read(data, request, mode)
            error = refusal(status, headers, data, replace(self._asked, model=request.model))
            # Another request in flight may have learned the same meanwhile: then only ask again.
            known = mode != self._writer.mode(request, self._dialect) or dialect is not self._dialect
            if not known and not self._learn(error, request, mode):
                raise error

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            raise RuntimeError("EndpointModel is used outside its 'async with' block")
        shown = self._address.shown
        try:
            async with self._session.post(self._url, data=body, allow_redirects=False) as response:
                return response.status, response.headers, await response.read()
        except aiohttp.ConnectionTimeoutError:
            raise ServerFailed(
                f"cannot reach {shown} (no connection within {self._connect_s:g} s): is the server running, and does "
                "a firewall or a proxy stand before it?"
            ) from None
        except TimeoutError:
            raise ModelTimeout(
                f"no whole answer from {shown} within {self._timeout_s:g} s: raise model.timeout_s, or ask for shorter "
                "replies"
            ) from None
        except aiohttp.ClientConnectorCertificateError as cause:
            raise RequestRefused(f"the certificate of {shown} is not valid: {cause.certificate_error}") from None
        except aiohttp.ClientConnectorError as cause:
            reason = cause.os_error.strerror or str(cause.os_error) or type(cause.os_error).__name__
            raise ServerFailed(f"cannot reach {shown} ({reason}): is the server running?") from None
        except aiohttp.ClientPayloadError:
            raise ReplyCut(f"the answer of {shown} ended early") from None
        except (aiohttp.ClientError, OSError) as cause:
            # Without the cause: aiohttp's errors may carry the request's headers, and so the key.
            raise ServerFailed(
                f"the connection to {shown} broke ({type(cause).__name__})", may_have_answered=True
            ) from None

    def _read(self, data: bytes, request: ChatRequest, mode: Mode) -> ChatReply:
        try:
            body = load_body(data)
        except FormatError:
            if data[:1] == b"<":
                raise RequestRefused(
                    f"{self._address.shown} answered with a web page: check the base URL (it usually ends with /v1)"
                ) from None
            raise ReplyCut(f"the answer of {self._address.shown} is no whole JSON ({len(data)} bytes)") from None
        if isinstance(body, dict) and "choices" not in body and body.get("error"):
            # Some gateways report an upstream failure with status 200.
            code = body["error"].get("code") if isinstance(body["error"], dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise refusal(status, {}, data, self._asked)
        reply = read_completion(body, asked=request.model, shown=self._address.shown)
        schema = request.response_schema
        if schema is not None and mode != "off" and self._may_step_down and reply.finish_reason == "stop":
            self._watch(reply.text, schema, mode)
        return reply

    def _learn(self, error: ModelError, request: ChatRequest, mode: Mode) -> bool:
        """Whether ``error`` taught a way to ask that may succeed."""
        dialect = self._dialect
        if isinstance(error, StructuredOutputUnsupported):
            schema = request.response_schema
            if not self._may_step_down or schema is None or mode == dialect.modes[-1]:
                return False
            self._ask_less(schema, mode)
            return True
        if not isinstance(error, RequestRefused):
            return False
        words = str(error)
        if "max_completion_tokens" in words and dialect.length_key == "max_tokens":
            self._dialect = replace(dialect, length_key="max_completion_tokens")
            return True
        for field in MAY_GO:
            if field not in dialect.unsent and _REFUSES[field].search(words):
                self._dialect = replace(dialect, unsent=dialect.unsent | {field})
                self._tell(f"does not take {field}: it is left out from now on, and the model's own holds")
                return True
        if "reasoning_content" in words and dialect.sends_reasoning:
            self._dialect = replace(dialect, sends_reasoning=False)
            return True
        return False

    def _ask_less(self, schema: JsonObject, mode: Mode) -> None:
        """A refusal is taken to be about its schema, since servers say in many words that they cannot compile one. Of a
        server that refused several and took none, it is taken to be about schemas as such.
        """
        self._writer.step_down(schema, mode)
        self._refused_schemas[mode] += 1
        if mode not in self._taken and self._refused_schemas[mode] >= _REFUSED_SCHEMAS:
            self._refuse(mode)
            self._tell(f"takes no response_format {mode}: it is asked for less from now on")
        else:
            self._tell(f"refuses response_format {mode} for a JSON Schema: less is asked for such replies from now on")

    def _tell(self, what: str) -> None:
        if self._say is not None:
            self._say(f"{self._name} at {self._address.shown} {what}")

    def _refuse(self, mode: Mode) -> None:
        rest = tuple(left for left in self._dialect.modes if left != mode)
        self._dialect = replace(self._dialect, modes=rest or ("off",))

    def _watch(self, text: str, schema: JsonObject, mode: Mode) -> None:
        """Some servers accept ``response_format`` and ignore it, wholly or for a schema that they cannot compile."""
        is_json = text.lstrip()[:1] in ("", "{", "[", '"')
        if is_json:
            self._ignored = 0
        elif mode == "json_object" or not self._keeps_schemas:
            self._ignored += 1
            if self._ignored >= _IGNORED_REPLIES and mode in self._dialect.modes:
                self._ignored = 0
                self._tell(f"ignores response_format {mode}: it is asked for less from now on")
                self._refuse(mode)
            return
        if mode == "schema":
            watch = self._writer.watch(schema)
            # Of those in flight when a schema is given up, each would tell it again.
            if watch.breaks(text) and self._writer.step_down(schema, mode):
                self._tell(
                    "does not keep to a JSON Schema that it accepted: it is told the schema in words from now on"
                )
            self._keeps_schemas = self._keeps_schemas or watch.was_kept_to


def _needs_proxy(address: Address) -> bool:
    """Whether the environment names a proxy for this host. Asked once: aiohttp would ask at every request."""
    if address.is_loopback:
        return False
    parts = urlsplit(address.chat)
    return parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(parts.hostname or "")
