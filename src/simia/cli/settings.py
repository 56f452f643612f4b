"""``simia settings``: what may be set, with its values and defaults."""

from typing import Annotated

import typer

from simia.cli.console import examples, result, result_facts, result_table, result_text
from simia.errors import ConfigError


def add_to(app: typer.Typer) -> None:
    """Register ``settings``."""
    app.command(
        epilog=examples(
            "simia settings", "simia settings simulate", "simia settings plan.outcomes", "simia settings bench"
        )
    )(settings)


def settings(
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION",
            help="A table of a recipe, with the tables in it, or bench, calibrate or grpo; without it all.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print every setting of synth, bench run, reward calibrate and train grpo: its purpose, values and default."""
    from simia.report.reference import sections

    known = sections()
    if section is not None and section.lower().startswith("roles."):
        section = "model"  # each role has the keys of a model
    wanted = [one for one in known if section is None or f"{one.name}.".startswith(f"{section.lower()}.")]
    if not wanted:
        raise ConfigError(f"no section {section!r}: the sections are {', '.join(one.name for one in known)}")
    for place, one in enumerate(wanted):
        if place:
            result()
        result(one.name.upper())
        for paragraph in one.prose:
            result_text(f"\n{paragraph}")
        result()
        result_table(("key", "values", "default"), one.settings)
        for title, items in one.lists:
            result()
            result(f"{title}:")
            result_facts([("-", item) for item in items])
