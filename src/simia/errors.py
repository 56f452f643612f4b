"""The one error tree of simia, drawn whole.

::

    SimiaError
    ├── ConfigError              what the user wrote cannot be meant (exit code 2)
    │   ├── ExtraMissing         an optional extra is not installed
    │   └── SeedError            a seed source cannot be used at all
    ├── RecordError              one record of a seed file is bad; the run goes on
    ├── FormatError              a text is not in the spelling it was read as
    ├── SchemaError              a JSON Schema is not one
    ├── StateError               a delta does not fit the state it is applied to
    ├── SimulatorError           a simulator stayed wrong after every repair
    │   └── SimulatedUserError   the simulator of the user did
    ├── JudgeError               no verdict could be had from a judge
    ├── EpisodeMisused           an environment was used out of turn
    ├── SandboxViolation         strange code tried what its sandbox does not allow
    ├── ModelError               a language model could not answer
    │   ├── TransientModelError  worth another try
    │   │   ├── RateLimited      429; carries Retry-After
    │   │   ├── ServerFailed     5xx, connection refused or reset
    │   │   ├── ModelTimeout     no answer in time
    │   │   └── ReplyCut         the body ended early or is no JSON
    │   ├── PermanentModelError  another try gives the same
    │   │   ├── AuthenticationFailed
    │   │   ├── ModelNotFound
    │   │   ├── ContextOverflow
    │   │   │   └── ContextFilled  the agent wrote most of what does not fit
    │   │   ├── StructuredOutputUnsupported
    │   │   └── RequestRefused   any other 4xx
    │   ├── EndpointLost         nothing is answered any more
    │   └── CostCeilingReached   the next request could pass the ceiling
    └── StoreError               the run folder
        ├── RunLocked            another process writes it
        ├── ManifestMismatch     it belongs to another configuration
        ├── DiskFull             nothing more can be written
        └── CorruptStream        a line in the middle cannot be read

Every message says what happened, the value, and what to do next. Foreign exceptions are wrapped once, at the
boundary where they enter, by :func:`boundary`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SimiaError(Exception):
    """Any error that simia raises on purpose; its text is one line made for a person."""


class ConfigError(SimiaError):
    """What the user wrote cannot be meant; nothing was started."""


class ExtraMissing(ConfigError):
    """An optional extra is needed: the message names the pip command, for a clone and for an installed package."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the extra {extra!r}: in a clone of simia pip install '.[{extra}]', from a package index "
            f"pip install 'simia[{extra}]'"
        )
        self.extra = extra


class SeedError(ConfigError):
    """A seed source cannot be used at all: empty, missing, or of an unknown format."""


class RecordError(SimiaError):
    """One record of a seed file cannot be read. Carries where and why, so that the run can go on."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason


class FormatError(SimiaError):
    """A text is not in the spelling it was read as."""


class SchemaError(SimiaError):
    """A JSON Schema is not one."""


class StateError(SimiaError):
    """A delta does not fit the state it is applied to."""


class SimulatorError(SimiaError):
    """A simulator stayed wrong after every repair; the episode is labelled, never scored."""


class SimulatedUserError(SimulatorError):
    """The simulated user stayed out of its role, or inadmissible, after every repair."""


class JudgeError(SimiaError):
    """No verdict could be had from a judge; the episode is masked, never scored. ``votes`` are those there were."""

    def __init__(self, message: str, votes: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.votes = votes


class EpisodeMisused(SimiaError):
    """An environment was started twice, or asked before its start or after its end: a mistake of the caller."""


class SandboxViolation(SimiaError):
    """Strange code tried what its sandbox does not allow; its process was ended, and nothing came of the call.

    ``wall`` names what stopped it: ``time``, ``memory``, ``output``, ``reply``, ``files``, ``network``, ``processes``,
    ``imports``, ``native code``, or ``system calls`` where it was hidden which of these it would have been.
    """

    def __init__(self, message: str, wall: str) -> None:
        super().__init__(message)
        self.wall = wall


class ModelError(SimiaError):
    """A language model could not answer."""


class TransientModelError(ModelError):
    """The same request may succeed later."""


class RateLimited(TransientModelError):
    """Status 429. ``retry_after_s`` is what the server asked for, or None."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFailed(TransientModelError):
    """A status of 5xx, or no connection. ``may_have_answered`` where the request had arrived, so that an answer may
    have been written, and charged for, that was lost on its way.
    """

    def __init__(self, message: str, *, may_have_answered: bool = False) -> None:
        super().__init__(message)
        self.may_have_answered = may_have_answered


class ModelTimeout(TransientModelError):
    """No whole answer in time."""


class ReplyCut(TransientModelError):
    """The body ended early, or is no JSON although the status was 200."""


class PermanentModelError(ModelError):
    """The same request would fail again."""


class AuthenticationFailed(PermanentModelError):
    """Status 401 or 403: the key is missing or wrong. Or 402, or 429 of the lasting kind: it has no quota left."""


class ModelNotFound(PermanentModelError):
    """The endpoint does not serve the model that was asked for."""


class ContextOverflow(PermanentModelError):
    """The prompt, or prompt and reply, do not fit the model's context."""


class ContextFilled(ContextOverflow):
    """The same, where more than half of a simulator's prompt is what the agent wrote: it is the agent's doing."""


class StructuredOutputUnsupported(PermanentModelError):
    """The server refuses ``response_format`` with a JSON Schema."""


class RequestRefused(PermanentModelError):
    """Any other status of 4xx."""


class EndpointLost(ModelError):
    """Nothing was answered for so long that no other request is worth a try; the run may go on later."""


class CostCeilingReached(ModelError):
    """The next request could pass ``--max-cost``; what was paid is on disk."""


class StoreError(SimiaError):
    """The run folder."""


class RunLocked(StoreError):
    """Another process writes this run."""


class ManifestMismatch(StoreError):
    """The run folder belongs to another configuration. ``keys`` names what differs, dotted."""

    def __init__(self, message: str, keys: tuple[str, ...]) -> None:
        super().__init__(message)
        self.keys = keys


class DiskFull(StoreError):
    """Nothing more can be written; everything acknowledged so far is safe."""


class CorruptStream(StoreError):
    """A line that is not the last one cannot be read: something else wrote the file."""


@contextmanager
def boundary(error: type[SimiaError], doing: str) -> Iterator[None]:
    """Turn any foreign exception inside the block into ``error``, once, with its cause attached.

    simia's own errors pass through unchanged. ``doing`` completes the sentence "could not ...".
    Only for types whose constructor takes one message.
    """
    try:
        yield
    except SimiaError:
        raise
    except Exception as cause:
        raise error(f"could not {doing}: {type(cause).__name__}: {cause}") from cause
