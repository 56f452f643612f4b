"""An end to a run to whose requests nothing comes back but refusals, or nothing at all."""

import asyncio
import re

from simia.errors import (
    ConfigError,
    EndpointLost,
    RequestRefused,
    StructuredOutputUnsupported,
    TransientModelError,
)
from simia.models.refusals import is_about_one_text
from simia.types import ChatModel, ChatReply, ChatRequest

_REFUSALS = 20
_PATIENCE_S = 60.0
_PROBE_S = 60.0

# Ids, times and counts differ from one refusal to the next.
_VARIES = re.compile(r"\S*\d\S*")


class BreakingModel:
    """A model that gives up after so many equal ``refusals`` in a row, without one answer between them.

    A refusal is the failure of one item. When nothing else comes back any more, it is the endpoint or the settings
    that refuse, and a million items would be a million refusals. Refusals that are about one text (moderation above
    all), and prompts that are too long, count neither way: a resumed run may have only such items left. Refusals are
    equal if their words are, apart from words with a digit.

    It gives up as well after so many transient failures in a row, each after all its tries, and over at least
    ``patience_s``: an endpoint that died is waited for as long as one request is tried again, and not once more for
    each item that is left. Whoever goes on asking nevertheless, as a training does whose episodes are masked, finds it
    again when it is back: every ``probe_s`` one request is let through, and its answer lets all others through.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        refusals: int = _REFUSALS,
        patience_s: float = _PATIENCE_S,
        probe_s: float = _PROBE_S,
    ) -> None:
        self._inner = inner
        self._most = refusals
        self._patience_s = patience_s
        self._probe_s = probe_s
        self._refused = 0
        self._reason = ""
        self._failed = 0
        self._failing_since = 0.0
        self._broken: ConfigError | EndpointLost | None = None
        self._probed = 0.0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The inner model's answer.

        Raises:
            ConfigError: everything is refused; nothing more is asked.
            EndpointLost: nothing is answered; nothing more is asked but now and then.
            ModelError: as the inner model.
        """
        if self._broken is not None and not self._is_probe():
            raise self._broken
        try:
            reply = await self._inner.complete(request)
        except (RequestRefused, StructuredOutputUnsupported) as error:
            self._found()
            is_of_one_item = isinstance(error, RequestRefused) and is_about_one_text(error)
            if not is_of_one_item:
                self._note_refusal(str(error))
            if self._broken is not None:
                raise self._broken from error
            raise
        except TransientModelError as error:
            self._note_failure(str(error))
            if self._broken is not None:
                raise self._broken from error
            raise
        self._refused = self._failed = 0
        self._found()
        return reply

    def _is_probe(self) -> bool:
        """Whether this request is the one that looks whether a lost endpoint is back."""
        now = asyncio.get_running_loop().time()
        if not isinstance(self._broken, EndpointLost) or now - self._probed < self._probe_s:
            return False
        self._probed = now
        return True

    def _found(self) -> None:
        """A lost endpoint is back."""
        if isinstance(self._broken, EndpointLost):
            self._broken = None

    def _note_refusal(self, words: str) -> None:
        reason = _VARIES.sub("", words)
        self._refused = self._refused + 1 if reason == self._reason else 1
        self._reason = reason
        self._failed = 0  # a refusal is an answer of the endpoint
        if self._refused >= self._most:
            self._broken = ConfigError(
                f"gave up on {self.name!r} after {self._refused} refusals in a row, none answered between them; each "
                f"time: {words}; where the endpoint is to blame, mend that and go on with --resume; another model or "
                "sampling is a new --run"
            )

    def _note_failure(self, words: str) -> None:
        now = asyncio.get_running_loop().time()
        self._failing_since = self._failing_since if self._failed else now
        self._failed += 1
        if self._failed >= self._most and now - self._failing_since >= self._patience_s:
            self._probed = now
            self._broken = EndpointLost(
                f"gave up on {self.name!r} after {self._failed} requests in a row without an answer; the last: {words}"
            )
