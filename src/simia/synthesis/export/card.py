"""The data set card: what is in the files, where it comes from, what was dropped, and under which licence it may be
used. Front matter as the Hugging Face hub reads it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simia.synthesis.export.files import ExportedFile

# SPDX identifier, in lower case, to the hub's identifier where that differs from the lower case.
_HUB_LICENCES = {"gpl-3.0-only": "gpl-3.0", "gpl-3.0-or-later": "gpl-3.0", "bsd": "bsd-3-clause"}
_KNOWN_LICENCES = {
    "apache-2.0",
    "mit",
    "bsd",
    "bsd-2-clause",
    "bsd-3-clause",
    "cc0-1.0",
    "cc-by-4.0",
    "cc-by-sa-4.0",
    "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0",
    "cc-by-nc-nd-4.0",
    "cc-by-nd-4.0",
    "cc-by-3.0",
    "cc-by-sa-3.0",
    "gpl-3.0",
    "odc-by",
    "odbl",
    "cdla-permissive-2.0",
    "mpl-2.0",
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

_USES = {
    "trl": 'TRL `SFTTrainer`: `load_dataset("json", data_files="trl/train.jsonl")`, with `assistant_only_loss=True`. '
    "`tools` is JSON text, which TRL decodes; elsewhere `json.loads` it.",
    "trl-parquet": 'The same as Parquet: `load_dataset("parquet", data_files="trl-parquet/train.parquet")` '
    "(`datasets` 5 or newer).",
    "prompt-completion": 'TRL `SFTTrainer`: `load_dataset("json", data_files="prompt-completion/train.jsonl")`; the '
    "loss is on the completion alone.",
    "openai": "OpenAI fine-tuning: upload `openai/train.jsonl`.",
    "llamafactory": "LLaMA-Factory: `dataset_dir: llamafactory`, `dataset: <name>_sharegpt` with any template, or "
    "`<name>_hermes` with `template: chatml`, which adds nothing to what the records spell themselves.",
    "llama3": "Llama 3.1 and later: apply the chat template without `tools`; the system prompt spells them.",
}


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What a stage saw, kept and failed at, and what it dropped by rule."""

    name: str
    seen: int
    kept: int
    failed: int
    dropped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Card:
    """Everything a card says. ``licences`` are SPDX identifiers; ``prompts`` are SHA-256 by name, and so are ``seeds``,
    or the package that made them with its version; ``worlds`` counts records by the name of their world. ``about`` says
    what the records are, in Markdown, where they are no simulated conversations.
    """

    name: str
    run: str
    version: str
    model: str
    records: int
    licences: Sequence[str]
    files: Sequence[ExportedFile]
    stages: Sequence[StageCounts] = ()
    worlds: Mapping[str, int] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    about: str = ""


def non_commercial(licences: Sequence[str]) -> tuple[str, ...]:
    """Those of ``licences`` that forbid commercial use."""
    return tuple(licence for licence in licences if "-nc" in licence.lower())


def render(card: Card) -> str:
    """The card as Markdown with YAML front matter; the same card gives the same text."""
    parts = [_front_matter(card), f"# {card.name}\n", _opening(card), _licence(card), _use(card), _funnel(card)]
    parts += [_provenance(card), _files(card)]
    return "\n".join(part for part in parts if part)


def _front_matter(card: Card) -> str:
    lines = ["---"]
    hub = sorted({_hub_licence(licence) for licence in card.licences})
    if len(hub) == 1:
        lines.append(f"license: {hub[0]}")
    else:
        lines += ["license:", *(f"- {licence}" for licence in hub or ["unknown"])]
    if "other" in hub:
        lines.append(f"license_name: {_quoted(', '.join(sorted(card.licences)))}")
    lines += [f"pretty_name: {_quoted(card.name)}", "task_categories:", "- text-generation", "tags:"]
    lines += [f"- {tag}" for tag in ("agent", "function-calling", "simia", "synthetic", "tool-use")]
    lines += ["size_categories:", f"- {_size(card.records)}"]
    data = [file for file in card.files if file.path.endswith((".jsonl", ".parquet"))]
    if data:
        lines.append("configs:")
    for position, file in enumerate(data):
        lines.append(f"- config_name: {_quoted(_config_name(file))}")
        if position == 0:
            lines.append("  default: true")
        lines += ["  data_files:", "  - split: train", f"    path: {_quoted(file.path)}"]
    return "\n".join([*lines, "---", ""])


def _opening(card: Card) -> str:
    worlds = ", ".join(f"{name} ({count:,})" for name, count in sorted(card.worlds.items()))
    by_world = f" By world: {worlds}." if worlds else ""
    if card.about:
        return f"{card.about}{by_world}\n"
    return (
        f"{card.records:,} multi-turn conversations of an agent that calls tools, made by the language model "
        f"`{card.model}` with [simia](https://arxiv.org/abs/2511.01824) {card.version}, run `{card.run}`. User, agent "
        f"and tool results are simulated; nothing was executed against a real system.{by_world}\n"
    )


def _licence(card: Card) -> str:
    names = ", ".join(f"`{licence}`" for licence in sorted(card.licences)) or "unknown"
    if card.about:
        text = f"## Licence\n\nThe worlds that these records were made from are under: {names}. A record is under the "
        text += "licence of its world, whose code and states it carries; the whole set is under all of them together.\n"
    else:
        text = f"## Licence\n\nThe seeds and worlds that these conversations were made from are under: {names}. "
        text += "A conversation is under the licence of its seed, and under that of its world, whose policy and tools "
        text += "it carries; the whole set is under all of them together.\n"
    forbidden = non_commercial(card.licences)
    if forbidden:
        text += (
            f"\n> **Not for commercial use.** {', '.join(f'`{licence}`' for licence in sorted(forbidden))} forbids it, "
            "for these data and, on a careful reading, for what is trained on them.\n"
        )
    return text


def _use(card: Card) -> str:
    formats = list(dict.fromkeys(file.format for file in card.files))
    return "\n".join(["## Use", "", *(f"- **{name}**: {_USES[name]}" for name in formats if name in _USES), ""])


def _funnel(card: Card) -> str:
    if not card.stages and not card.notes:
        return ""
    lines = ["## Counts"]
    if card.stages:
        lines += ["", "| stage | seen | kept | dropped | failed |", "|---|---:|---:|---:|---:|"]
    for stage in card.stages:
        dropped = sum(stage.dropped.values())
        lines.append(f"| {stage.name} | {stage.seen:,} | {stage.kept:,} | {dropped:,} | {stage.failed:,} |")
    reasons = [
        (stage.name, rule, count)
        for stage in card.stages
        for rule, count in sorted(stage.dropped.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    if reasons:
        lines += ["", "| stage | reason for dropping | items |", "|---|---|---:|"]
        lines += [f"| {stage} | `{rule}` | {count:,} |" for stage, rule, count in reasons]
    if card.notes:
        lines += ["", "| in the exported records | records |", "|---|---:|"]
        lines += [f"| {what} | {count:,} |" for what, count in card.notes.items()]
    return "\n".join([*lines, ""])


def _provenance(card: Card) -> str:
    lines = []
    tables = (("seed source", "SHA-256, or package and version", card.seeds), ("prompt", "SHA-256", card.prompts))
    for title, meaning, marks in tables:
        if marks:
            lines += ["", f"| {title} | {meaning} |", "|---|---|"]
            lines += [f"| `{name}` | `{mark}` |" for name, mark in sorted(marks.items())]
    return "\n".join(["## Provenance", *lines, ""]) if lines else ""


def _files(card: Card) -> str:
    lines = ["## Files", "", "| file | records | bytes | SHA-256 |", "|---|---:|---:|---|"]
    lines += [f"| `{file.path}` | {file.records:,} | {file.size_bytes:,} | `{file.sha256}` |" for file in card.files]
    return "\n".join([*lines, ""])


def _hub_licence(licence: str) -> str:
    name = _HUB_LICENCES.get(licence.lower(), licence.lower())
    return name if name in _KNOWN_LICENCES else "other"


def _config_name(file: ExportedFile) -> str:
    if file.format != "llamafactory":
        return file.format
    return f"llamafactory-{file.path.rsplit('_', 1)[-1].removesuffix('.jsonl')}"


def _size(records: int) -> str:
    return next((name for limit, name in _SIZES if records < limit), "n>1M")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
