"""What a user configures about a language model."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from simia.config import Settings

Structured = Literal["auto", "schema", "json_object", "off"]

OPERATIONAL = (
    "base_url",
    "api_key_env",
    "max_in_flight",
    "timeout_s",
    "retry_for_s",
    "max_cost",
    "prices",
    "structured",
    "record",
)
"""How a model is reached, not what it is: a resumed run may change these."""


class ModelSettings(Settings):
    """A language model, and how it is asked.

    ``name`` is a model's name at the endpoint, ``embedded``, ``gguf:PATH`` or ``cassette:FILE``, as for ``--model``;
    without it one is chosen, and ``simia models check`` says which. ``base_url`` is the address of the endpoint;
    without it the one in ``OPENAI_BASE_URL`` holds, else, where there is a key, that of OpenAI. ``api_key_env`` is the
    *name* of the environment variable that holds the key; the key itself never stands in settings.

    At most ``max_in_flight`` requests are open at the same time, fewer as long as the server refuses so many; a model
    on this machine takes fewer, as its processor can bear. ``timeout_s`` is how many seconds one try of a request may
    take until its whole answer is there, ``retry_for_s`` for how many a request is tried again after its first failure
    (0: never).

    ``max_cost`` is what a run may cost in US dollars before it stops; without it there is no limit. ``prices`` is a
    TOML file of prices that come before those that simia knows.

    ``structured`` is how a server is told the JSON Schema of a reply: "schema" sends it for the server to enforce,
    "json_object" asks for any JSON and tells the schema in the prompt, "off" only tells it there; "auto" begins with
    the schema and steps down where the server refuses it.

    ``context`` is how many tokens of prompt and reply together fit into a model that simia itself serves (``embedded``,
    ``gguf:PATH``). ``record`` is a cassette: a file that every request and reply is appended to, for
    ``cassette:FILE`` to replay.
    """

    name: str | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    max_in_flight: int = Field(default=64, ge=1, le=10_000)
    timeout_s: float = Field(default=600.0, gt=0)
    retry_for_s: float = Field(default=900.0, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    prices: Path | None = None
    structured: Structured = "auto"
    context: int | None = Field(default=None, ge=256)
    record: Path | None = None
