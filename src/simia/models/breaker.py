"""An end to a run to whose requests nothing comes back but refusals, or nothing at all."""

import re

from simia.errors import ConfigError, RequestRefused, StructuredOutputUnsupported, TransientModelError
from simia.models.refusals import is_about_one_text
from simia.types import ChatModel, ChatReply, ChatRequest

_REFUSALS = 20

_SILENCE = "no answer"

# Ids, times and counts differ from one refusal to the next.
_VARIES = re.compile(r"\S*\d\S*")


class BreakingModel:
    """A model that gives up after so many equal ``refusals`` in a row, without one answer between them.

    A refusal is the failure of one item. When nothing else comes back any more, it is the endpoint or the settings
    that refuse, and a million items would be a million refusals. Refusals that are about one text (moderation above
    all), and prompts that are too long, count neither way: a resumed run may have only such items left. Refusals are
    equal if their words are, apart from words with a digit.

    Transient failures, each after all its tries, count in the same way and are all equal: an endpoint that died is
    waited for as long as one request is tried again, and not once more for each item that is left.
    """

    def __init__(self, inner: ChatModel, *, refusals: int = _REFUSALS) -> None:
        self._inner = inner
        self._most = refusals
        self._count = 0
        self._reason = ""
        self._broken: str | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The inner model's answer.

        Raises:
            ConfigError: everything is refused, or nothing is answered; nothing more is asked.
            ModelError: as the inner model.
        """
        if self._broken is not None:
            raise ConfigError(self._broken)
        try:
            reply = await self._inner.complete(request)
        except (RequestRefused, StructuredOutputUnsupported) as error:
            is_of_one_item = isinstance(error, RequestRefused) and is_about_one_text(error)
            if not is_of_one_item and self._is_last_straw(str(error)):
                raise ConfigError(self._broken) from error
            raise
        except TransientModelError as error:
            if self._is_last_straw(str(error), _SILENCE):
                raise ConfigError(self._broken) from error
            raise
        self._count = 0
        return reply

    def _is_last_straw(self, words: str, reason: str = "") -> bool:
        reason = reason or _VARIES.sub("", words)
        self._count = self._count + 1 if reason == self._reason else 1
        self._reason = reason
        if self._count >= self._most:
            self._broken = (
                f"gave up on {self.name!r} after {self._count} requests in a row without an answer; the last: {words}; "
                "where the endpoint is to blame, mend that and go on with --resume; another model or sampling is a new "
                "--run"
            )
        return self._broken is not None
