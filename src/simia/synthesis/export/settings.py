"""What a user chooses about exports."""

from typing import Literal

from pydantic import Field

from simia.config import Name, Settings


class ExportSettings(Settings):
    """Which training files are written. Of the ``formats``, ``trl`` and ``trl-parquet`` (extra ``parquet``) are for
    TRL, ``prompt-completion`` for TRL's loss on the last message alone, ``llamafactory`` for LLaMA-Factory, ``openai``
    for OpenAI's fine-tuning, ``llama3`` for Llama-3's JSON calls.

    ``reasoning``: "keep" spells it where the target has a place for it; OpenAI's and Llama's have none, so there it
    is always left out. "strip" leaves it out everywhere. ``name`` is the data set's, in file names and in the card
    (which adds the run's name to the default); files of an earlier export under another name are removed.
    """

    formats: tuple[str, ...] = Field(default=("trl", "llamafactory"), min_length=1)
    reasoning: Literal["keep", "strip"] = "keep"
    name: Name = "simia"
