"""The fence: text that others wrote stands in a prompt as data, never as an instruction."""

import random

from simia.errors import FormatError

_TAG_BITS = 48


def new_tag(rng: random.Random) -> str:
    """A tag that no text written before can contain, except by a chance of 2^-48.

    Draw one per request, or one per conversation where the shared beginning of its requests shall be cached; the
    writers of the fenced text must never see it.
    """
    return f"{rng.getrandbits(_TAG_BITS):012x}"


def fence(text: str, tag: str, label: str = "data") -> str:
    """``text`` between two markers that carry ``tag``; ``label`` says in one word what the text is.

    Raises:
        FormatError: the text contains the tag, so its writer knew it and could close the fence.
    """
    if tag in text:
        raise FormatError(f"a text to be fenced contains the fence's own tag {tag!r}: draw a new tag")
    return f"<{label}-{tag}>\n{text}\n</{label}-{tag}>"
