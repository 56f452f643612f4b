"""The chat model over the embedded server: one request at a time per slot, every schema as a grammar."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from simia.errors import (
    ModelNotFound,
    ModelTimeout,
    ReplyCut,
    RequestRefused,
    ServerFailed,
    StructuredOutputUnsupported,
)
from simia.formats.openai import render_messages, render_tools
from simia.models.answers import read_completion
from simia.models.embedded.fetch import SMOLLM2, Say, embedded_gguf, say_to_stderr
from simia.models.embedded.grammar import Grammar, grammar_for
from simia.models.embedded.launch import EmbeddedServer, serve
from simia.models.embedded.warm import warm
from simia.models.refusals import Asked, refusal
from simia.types import ChatReply, ChatRequest

# The tail below 5 % of the likeliest token is noise in a small quantised model, and a temperature of 1 draws from it
# often. These two are llama.cpp's names; both are sent, so that no default of a server decides a result.
_MIN_P = 0.05
_TOP_K = 0
# Small models fall into loops and copy the example. From the length of a long address on, each further token that goes
# on with something said before becomes less likely; ids, names and the keys of JSON are shorter and stay untouched.
_DRY = {
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 20,
    "dry_penalty_last_n": 1 << 17,
    "dry_sequence_breakers": ["\n", ":", '"', "*"],
}
# llama.cpp writes its log from a thread of its own.
_LOG_SETTLES_S = 0.02
_REFUSED_GRAMMAR = "llg error:"


@asynccontextmanager
async def open_embedded(
    gguf: Path | None = None,
    *,
    name: str | None = None,
    slots: int = 2,
    context: int = 8192,
    threads: int | None = None,
    timeout_s: float = 600.0,
    say: Say = say_to_stderr,
) -> AsyncIterator["EmbeddedModel"]:
    """A language model on this machine: the GGUF file at ``gguf``, or SmolLM2, which is fetched at the first use.

    Args:
        name: what replies and records call the model; None takes that of the file.
        context: tokens of one prompt and its reply together.
        timeout_s: for one request, from the moment it has a slot.

    Raises:
        ExtraMissing: the extra ``local`` is not installed.
        ConfigError: the model cannot be fetched, or llama.cpp cannot load the file.
    """
    called = name or (SMOLLM2.name if gguf is None else gguf.stem)
    path = await asyncio.to_thread(embedded_gguf, say=say) if gguf is None else gguf
    async with serve(path, slots=slots, context=context, threads=threads, name=called) as server:
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        # llama.cpp closes an idle connection after five seconds, just when the next request may be on its way.
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(headers=server.headers, timeout=timeout, connector=connector) as session:
            yield EmbeddedModel(server, session, say=say)


class EmbeddedModel:
    """Answers from an embedded server. ``server`` tells its limits; ``say`` is told, once each, what of the schemas
    asked for no grammar enforces.
    """

    def __init__(self, server: EmbeddedServer, session: aiohttp.ClientSession, *, say: Say) -> None:
        self.server = server
        self._session = session
        self._free_slots = asyncio.Semaphore(server.slots)
        self._taking_all = asyncio.Lock()
        self._warming = asyncio.Lock()
        self._is_warm = server.slots == 1
        self._proving = asyncio.Lock()
        self._proven: set[Grammar] = set()
        self._say = say
        self._told: set[str] = set()
        self._asked = Asked(shown=server.base_url, model=server.name, key=server.api_key, key_name="its own key")

    @property
    def name(self) -> str:
        """The model's name: that of its file."""
        return self.server.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer. Under a ``response_schema``, one that finished with ``stop`` is JSON in the schema's language.

        The first request's prompt is put into every slot, because most of it is usually the run's shared prefix. Later
        ones go without ``id_slot``: the server then takes the free slot whose cached prompt begins most alike.

        Raises:
            ContextOverflow: the prompt alone does not fit. A reply that does not fit ends with ``length``.
            StructuredOutputUnsupported: llguidance cannot compile the schema's grammar; the message holds its reason.
            ModelNotFound: the server's process is gone.
            ModelTimeout: no whole answer in time.
            RequestRefused: tools and a schema at once, which llama.cpp does not take.
        """
        if request.tools and request.response_schema is not None:
            raise RequestRefused("the embedded model takes tools or a response_schema, not both: put one in the prompt")
        body: dict[str, Any] = {
            "model": request.model,
            "messages": render_messages(request.messages, reasoning=False),
            "temperature": request.sampling.temperature,
            "max_tokens": request.sampling.max_tokens,
            "top_p": request.sampling.top_p,
            "top_k": _TOP_K,
            "min_p": _MIN_P,
            "cache_prompt": True,
            **_DRY,
        }
        if request.sampling.seed is not None:
            body["seed"] = request.sampling.seed & 0x7FFFFFFF
        if request.sampling.stop:
            body["stop"] = list(request.sampling.stop)
        if request.tools:
            body["tools"] = render_tools(request.tools)
        await self._warm_once(request)
        async with self._free_slots:
            if request.response_schema is not None:
                grammar = grammar_for(request.response_schema)
                body["grammar"] = grammar.text
                await self._prove(grammar, body)
            answer = await self.post("/v1/chat/completions", body)
        return read_completion(answer, asked=self.name, shown=self.server.base_url)

    @asynccontextmanager
    async def all_slots(self) -> AsyncIterator[None]:
        """A time in which no other request runs."""
        async with self._taking_all, AsyncExitStack() as held:
            for _ in range(self.server.slots):
                await held.enter_async_context(self._free_slots)
            yield

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What the server answers to ``body`` at ``path``, a JSON object.

        Raises:
            ModelError: as ``complete``.
        """
        try:
            async with self._session.post(self.server.url + path, data=orjson.dumps(body)) as response:
                status, headers, data = response.status, response.headers, await response.read()
        except TimeoutError:
            raise ModelTimeout(
                f"{self.name} gave no whole answer in time: raise model.timeout_s, or ask for shorter replies"
            ) from None
        except aiohttp.ClientError as cause:
            if death := await self.server.death():
                raise ModelNotFound(f"{death}; what was answered is kept: start again with --resume") from None
            raise ServerFailed(f"the connection to the embedded server broke ({type(cause).__name__})") from None
        if status != 200:
            raise refusal(status, headers, data, self._asked)
        try:
            answer: dict[str, Any] = orjson.loads(data)
        except orjson.JSONDecodeError:
            raise ReplyCut(f"the embedded server's answer is no JSON ({len(data)} bytes)") from None
        return answer

    async def _warm_once(self, request: ChatRequest) -> None:
        async with self._warming:
            if not self._is_warm:
                await warm(self, request.messages)
                self._is_warm = True

    async def _prove(self, grammar: Grammar, body: dict[str, Any]) -> None:
        """Find out whether the server compiles ``grammar``: where it cannot, it answers without one and says so only
        in its log.

        One token of the same request shows it. The prompt is then in the slot's cache, so the time is not lost. One
        at a time, so that an error in the log has one owner.
        """
        if grammar in self._proven:
            return
        async with self._proving:
            if grammar in self._proven:
                return
            mark = self.server.log_size()
            await self.post("/v1/chat/completions", {**body, "max_tokens": 1})
            await asyncio.sleep(_LOG_SETTLES_S)
            for line in self.server.log_lines(mark):
                if _REFUSED_GRAMMAR in line:
                    reason = line.split(_REFUSED_GRAMMAR, 1)[1].strip()
                    raise StructuredOutputUnsupported(f"no grammar can be made of the reply's JSON Schema: {reason}")
            self._proven.add(grammar)
            for note in grammar.notes:
                if note not in self._told:
                    self._told.add(note)
                    self._say(f"{self.name}: of a reply's JSON Schema {note} while it writes, only checked afterwards")
