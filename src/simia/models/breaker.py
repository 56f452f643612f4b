"""An end to a run whose every request is refused for the same reason."""

import re

from simia.errors import ConfigError, RequestRefused, StructuredOutputUnsupported
from simia.models.refusals import is_about_one_schema, is_about_one_text
from simia.types import ChatModel, ChatReply, ChatRequest

_REFUSALS = 20

# Ids, times and counts differ from one refusal to the next.
_VARIES = re.compile(r"\S*\d\S*")


class BreakingModel:
    """A model that gives up after ``refusals`` equal refusals in a row, without one answer between them.

    A refusal is the failure of one item. When nothing else comes back any more, it is the endpoint or the settings
    that refuse, and a million items would be a million refusals. Refusals that are about one text or one schema
    (moderation above all), and prompts that are too long, count neither way: a resumed run may have only such items
    left. Refusals are equal if their words are, apart from words with a digit.
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
            ConfigError: everything is refused; nothing more is asked.
            ModelError: as the inner model.
        """
        if self._broken is not None:
            raise ConfigError(self._broken)
        try:
            reply = await self._inner.complete(request)
        except (RequestRefused, StructuredOutputUnsupported) as error:
            if not _is_about_one_item(error) and self._is_last_straw(str(error)):
                raise ConfigError(self._broken) from error
            raise
        self._count = 0
        return reply

    def _is_last_straw(self, words: str) -> bool:
        reason = _VARIES.sub("", words)
        self._count = self._count + 1 if reason == self._reason else 1
        self._reason = reason
        if self._count >= self._most:
            self._broken = (
                f"gave up on {self.name!r} after {self._count} refusals in a row, none answered between them; each "
                f"time: {words}; where the endpoint is to blame, mend that and go on with --resume; another model or "
                "sampling is a new --run"
            )
        return self._broken is not None


def _is_about_one_item(error: RequestRefused | StructuredOutputUnsupported) -> bool:
    if isinstance(error, RequestRefused):
        return is_about_one_text(error)
    return is_about_one_schema(error)
