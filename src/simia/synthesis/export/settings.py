"""What a user chooses about exports."""

from typing import Literal

from simia.config import Name, Settings


class ExportSettings(Settings):
    """``formats``: which targets are written, see ``FORMATS`` in :mod:`simia.synthesis.export`.

    ``reasoning``: "keep" spells it where the target has a place for it; OpenAI's and Llama's have none, so there it
    is always left out. ``name`` is the data set's, in file names and in the card; files of an earlier export under
    another name are removed.
    """

    formats: tuple[str, ...] = ("trl", "llamafactory")
    reasoning: Literal["keep", "strip"] = "keep"
    name: Name = "simia"
