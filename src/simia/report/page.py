"""One self-contained HTML file from numbers and rows: the template's values, and the safe embedding of foreign text."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
import orjson
from markupsafe import Markup

from simia.report.selection import Shown

_TEMPLATES = "simia.report"


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart with its heading."""

    title: str
    note: str
    chart: Markup


@dataclass(frozen=True, slots=True)
class Page:
    """Everything a run's page says. Strings are plain text; they are escaped where they are set."""

    title: str
    lead: str
    version: str
    facts: Sequence[tuple[str, Sequence[str]]]
    config: str
    embedded_note: str
    warnings: Sequence[str] = ()
    prompts: Sequence[tuple[str, str]] = ()
    seeds: Sequence[tuple[str, str]] = ()
    funnel: Markup | None = None
    reasons: Sequence[Panel] = ()
    anatomy: Sequence[Panel] = ()
    anatomy_of: str = "kept trajectories"
    rows: Sequence[Shown] = ()
    worlds: dict[str, dict[str, Any]] = field(default_factory=dict)

    def html(self) -> str:
        """The file's text."""
        return document(
            "run",
            {"worlds": self.worlds, "items": [row.as_json() for row in self.rows]},
            title=self.title,
            lead=self.lead,
            version=self.version,
            facts=self.facts,
            config=self.config,
            embedded_note=self.embedded_note,
            warnings=self.warnings,
            prompts=self.prompts,
            seeds=self.seeds,
            funnel=self.funnel,
            reasons=self.reasons,
            anatomy=self.anatomy,
            anatomy_of=self.anatomy_of,
        )


def document(name: str, data: Any, **values: Any) -> str:
    """The page of template ``name`` with its sheet and script after those that all pages share, and ``data`` for the
    script. ``values`` are what the template shows; ``version`` must be among them.

    The policy in its head allows the page's own script and style by hash, and nothing else: no request leaves the
    page, and a script that a model managed to write into it would not run.
    """
    style, script = (_asset(f"base.{kind}") + _asset(f"{name}.{kind}") for kind in ("css", "js"))
    return (
        _environment()
        .get_template(f"{name}.html.jinja")
        .render(
            **values,
            style=Markup(style),
            style_hash=policy_hash(style),
            script=Markup(script),
            script_hash=policy_hash(script),
            data=embedded_json(data),
        )
    )


def embedded_json(value: Any) -> Markup:
    """JSON that may stand inside a script element.

    Every ``<`` is written as an escape, so that neither ``</script`` nor ``<!--`` in a model's text can end the element
    or change how it is read. Keys stay in their order.
    """
    text = orjson.dumps(value).decode()
    return Markup(text.replace("<", "\\u003c"))


def policy_hash(text: str) -> str:
    """The source expression of an inline script or style in a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def table_of(pairs: Iterable[tuple[str, str | None]]) -> list[tuple[str, list[str]]]:
    """Facts with one value each, without those that have none."""
    return [(name, [value]) for name, value in pairs if value]


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@lru_cache(maxsize=16)
def _asset(name: str) -> str:
    return (files(_TEMPLATES) / "templates" / name).read_text(encoding="utf-8")
