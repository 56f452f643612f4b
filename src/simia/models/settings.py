"""What a user configures about a language model."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from simia.config import Settings

Structured = Literal["auto", "schema", "json_object", "off"]


class ModelSettings(Settings):
    """A language model and how it may be used. Holds the *name* of the key's environment variable, never the key.

    ``name`` takes the forms of ``--model`` (see ``models.choose``); without it one is chosen. ``retry_for_s`` is how
    long one request is tried again after its first failure. ``max_cost`` and ``prices`` are in US dollars.
    ``structured`` says how a JSON Schema is enforced; ``auto`` starts with the schema and steps down where the server
    refuses. ``context`` is the context length in tokens that a model served by simia itself gets. ``record`` is a
    cassette that every request and reply is appended to; ``name = "cassette:FILE"`` replays it.
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
