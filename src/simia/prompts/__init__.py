"""Sentences to models: templates as files, each with the hash of its bytes, and the fence around text that is data."""

from simia.prompts.fencing import fence, new_tag
from simia.prompts.templates import Template, hashes, load

__all__ = ["Template", "fence", "hashes", "load", "new_tag"]
