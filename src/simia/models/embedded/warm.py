"""The shared prefix of many requests, computed once and given to every slot."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from simia.formats.openai import render_messages
from simia.models.embedded.launch import EmbeddedServer
from simia.types import Message

_FILE = "prefix.bin"


class Slots(Protocol):
    """What warming needs of a model: its server, requests to it, and a time in which no other runs."""

    server: EmbeddedServer

    def all_slots(self) -> AbstractAsyncContextManager[None]: ...

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Warmed:
    """How long the prefix is, and how many of its tokens had to be computed, in tokens."""

    prompt_tokens: int
    computed_tokens: int


async def warm(model: Slots, messages: Sequence[Message]) -> Warmed:
    """Put the prompt of ``messages`` into the cache of every slot of ``model``.

    Give it one whole request of those to come: what they have in common from the first token on is then computed
    once, in slot 0, and copied to the others through a file, which takes milliseconds. Otherwise each slot would
    compute it for itself. Waits until no other request runs.

    Raises:
        ContextOverflow: the messages do not fit a slot.
        ModelError: as ``EmbeddedModel.complete``.
    """
    body = {"messages": render_messages(messages, reasoning=False), "max_tokens": 1, "id_slot": 0, "cache_prompt": True}
    async with model.all_slots():
        answer = await model.post("/v1/chat/completions", body)
        if model.server.slots > 1:
            file = model.server.slot_folder / _FILE
            try:
                await model.post("/slots/0?action=save", {"filename": _FILE})
                for slot in range(1, model.server.slots):
                    await model.post(f"/slots/{slot}?action=restore", {"filename": _FILE})
            finally:
                file.unlink(missing_ok=True)
    return Warmed(prompt_tokens=answer["usage"]["prompt_tokens"], computed_tokens=answer["timings"]["prompt_n"])
