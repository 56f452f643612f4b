"""Targets whose system prompt spells the tools itself: LLaMA-Factory's two spellings, and Llama-3 JSON."""

from itertools import groupby
from pathlib import Path

import orjson

from simia.formats import hermes, llama3, sharegpt
from simia.store.atomic import remove
from simia.synthesis.export.chat import tools_text
from simia.synthesis.export.files import ExportedFile, NewFile
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.target import WorldTexts, line, spoken
from simia.types import Trajectory, WorldSpec

_INFO = "llamafactory/dataset_info.json"


class LlamaFactoryWriter:
    """``llamafactory/``: two data sets and the ``dataset_info.json`` that registers them.

    ``<name>_sharegpt`` has the roles ``function_call`` and ``observation`` and a column ``tools``; LLaMA-Factory's
    template spells the tools, so any of its templates may be used. ``<name>_hermes`` has everything in text and wants
    a template that adds nothing of its own, ``template: chatml``.

    LLaMA-Factory takes only records whose two sides alternate and silently drops the others, so the observations of
    parallel calls are one item.

    Data sets of an earlier export under another name go, because nothing would register them any more. What they are
    called says its ``dataset_info.json``; where that is not as it was written here, nothing is removed.
    """

    def __init__(self, folder: Path, settings: ExportSettings) -> None:
        self._folder = folder
        self._name = settings.name
        self._reasoning = settings.reasoning == "keep"
        self._sharegpt_world = WorldTexts(_sharegpt_world)
        self._hermes_system = WorldTexts(
            lambda world: orjson.Fragment(orjson.dumps(hermes.system_prompt(world.policy, world.tools)))
        )
        self._sharegpt = NewFile(folder, _data_path(f"{self._name}_sharegpt"), "llamafactory")
        self._hermes = NewFile(folder, _data_path(f"{self._name}_hermes"), "llamafactory")
        self._info = NewFile(folder, _INFO, "llamafactory")
        self._files = (self._sharegpt, self._hermes, self._info)

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """One record in each data set."""
        messages = spoken(trajectory, self._reasoning)
        policy, tools = self._sharegpt_world.of(world)
        record = {"conversations": sharegpt.render(messages), "system": policy, "tools": tools}
        self._sharegpt.write(line(record))
        conversations = _alternating(hermes.render(messages, keys="sharegpt"))
        self._hermes.write(line({"conversations": conversations, "system": self._hermes_system.of(world)}))

    def finish(self) -> tuple[ExportedFile, ...]:
        """Both data sets, and the file that registers them."""
        self._info.write(orjson.dumps(_dataset_info(self._name), option=orjson.OPT_INDENT_2) + b"\n", records=0)
        return tuple(file.finish() for file in self._files)

    def place(self) -> None:
        """Put the data sets in place, then the file that registers them; at last those of another name are removed."""
        earlier = registered_files(self._folder)
        for file in self._files:
            file.place()
        for path in earlier - registered_files(self._folder):
            remove(path)

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        for file in self._files:
            file.abort()


class Llama3Writer:
    """``llama3/train.jsonl``: ``messages`` with the roles system, user, assistant and ipython, all of it text.

    The tools stand in the system prompt in Meta's words, so the chat template is applied without ``tools``.
    """

    def __init__(self, folder: Path, settings: ExportSettings) -> None:
        self._system = WorldTexts(
            lambda world: orjson.Fragment(
                orjson.dumps({"role": "system", "content": llama3.system_prompt(world.policy, world.tools)})
            )
        )
        self._file = NewFile(folder, "llama3/train.jsonl", "llama3")

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """One record."""
        messages = llama3.render(spoken(trajectory, reasoning=False))
        self._file.write(line({"messages": [self._system.of(world), *messages]}))

    def finish(self) -> tuple[ExportedFile, ...]:
        """The one file."""
        return (self._file.finish(),)

    def place(self) -> None:
        """Put it in place."""
        self._file.place()

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        self._file.abort()


def _sharegpt_world(world: WorldSpec) -> tuple[orjson.Fragment, orjson.Fragment]:
    tools = tools_text(world) if world.tools else ""
    return orjson.Fragment(orjson.dumps(world.policy)), orjson.Fragment(orjson.dumps(tools))


def _alternating(items: list[dict[str, str]]) -> list[dict[str, str]]:
    joined = []
    for role, group in groupby(items, key=lambda item: item["from"]):
        values = [item["value"] for item in group]
        if role == "tool":
            joined.append({"from": role, "value": "\n".join(values)})
        else:
            joined.extend({"from": role, "value": value} for value in values)
    return joined


def registered_files(folder: Path) -> set[Path]:
    """The data sets that the ``dataset_info.json`` below ``folder`` registers, and that file itself; none where it is
    not as it was written here.
    """
    name = _registered_name(folder / _INFO)
    return set() if name is None else {folder / _INFO, *(folder / _data_path(one) for one in _dataset_info(name))}


def _data_path(data_set: str) -> str:
    return f"llamafactory/{data_set}.jsonl"


def _registered_name(info_file: Path) -> str | None:
    """The name of an earlier export, or None where there is none or its file is not as it was written here."""
    try:
        info = orjson.loads(info_file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    if not isinstance(info, dict) or not info:
        return None
    name = next(iter(info)).removesuffix("_sharegpt")
    # A path is no name: what it led to lies elsewhere and is left alone.
    return name if info == _dataset_info(name) and Path(f"{name}_").name == f"{name}_" else None


def _dataset_info(name: str) -> dict[str, object]:
    # With one tag given LLaMA-Factory forgets its defaults for the others, so all are given.
    tags = {
        "role_tag": "from",
        "content_tag": "value",
        "user_tag": "human",
        "assistant_tag": "gpt",
        "observation_tag": "observation",
        "function_tag": "function_call",
        "system_tag": "system",
    }
    return {
        f"{name}_sharegpt": {
            "file_name": f"{name}_sharegpt.jsonl",
            "formatting": "sharegpt",
            "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
            "tags": tags,
        },
        f"{name}_hermes": {
            "file_name": f"{name}_hermes.jsonl",
            "formatting": "sharegpt",
            "columns": {"messages": "conversations", "system": "system"},
            "tags": {**tags, "observation_tag": "tool"},
        },
    }
