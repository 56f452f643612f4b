"""An episode with what models were asked in it, as one value for programs."""

from simia.store import Run
from simia.store.calls import CallRecord
from simia.types import Episode, Message, Value


class EpisodeRecord(Value):
    """An episode, the calls of models in the order of their answers, and the messages of their prompts, each once under
    the content id by which calls name it. What was not asked for is None.
    """

    episode: Episode
    calls: tuple[CallRecord, ...] | None = None
    messages: dict[str, Message] | None = None


def record_of(run: Run, episode: Episode, *, calls: bool, prompts: bool) -> EpisodeRecord:
    """The record of ``episode``, with its ``calls`` and with their ``prompts`` where these are wanted.

    Raises:
        CorruptStream: a call, or a message of its prompt, cannot be read.
    """
    found = tuple(run.calls.of(episode.id)) if calls or prompts else None
    ids = dict.fromkeys(message_id for call in found or () for message_id in call.messages)
    messages = {message_id: run.calls.text(message_id) for message_id in ids} if prompts else None
    return EpisodeRecord(episode=episode, calls=found, messages=messages)
