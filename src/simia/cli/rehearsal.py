"""``--dry-run``: what a run would refuse, and about what it would ask and cost."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from simia.cli.console import result_facts, say

if TYPE_CHECKING:
    from simia.models.cast import Cast
    from simia.synthesis.recipe import Recipe


def rehearse(recipe: "Recipe", cast: "Cast", stages: tuple[str, ...], folder: Path | None, *, quiet: bool) -> None:
    """Refuse what the run would refuse; then estimate it, or what the run in ``folder`` still lacks."""
    from simia.report.usage import cost_text
    from simia.synthesis.cast import settled
    from simia.synthesis.estimate import estimate
    from simia.synthesis.manifest import demand_same, manifest_of
    from simia.synthesis.run import demand_usable

    if not quiet:
        say_models(cast)
    usable = settled(recipe, cast)
    demand_usable(usable, cast, stages)
    if folder is not None:
        demand_same(recipe, cast, folder)
    else:
        manifest_of(usable, cast)
    made = _Made.of(folder) if folder is not None else _Made()
    if made.conversations >= recipe.count:
        said = f"{made.conversations:,} of {recipe.count:,} made: no model would be asked"
        result_facts([("conversations", said)])
        return
    rest = recipe.model_copy(update={"count": recipe.count - made.conversations})
    if made.has_judged:
        rest = rest.model_copy(update={"prefilter": rest.prefilter.model_copy(update={"judge": False})})
    guess = estimate(rest, cast)
    judged = f", {guess.judged:,} of them to judge seeds" if guess.judged else ""
    already = [("made", f"{made.conversations:,} conversations, cost so far {cost_text(made.cost)}")]
    result_facts(
        [
            *(already if folder is not None else []),
            ("conversations", f"{guess.conversations:,} from {guess.seeds:,} seeds"),
            ("requests", f"{guess.requests:,}{judged}"),
            ("tokens in", f"about {guess.prompt_tokens:,}, the longest prompt {guess.longest_prompt_tokens:,}"),
            ("tokens out", f"about {guess.completion_tokens:,}"),
            ("cost", cost_text(guess.cost)),
        ]
    )
    if not quiet:
        say(
            f"estimated from the prompts of {guess.sampled:,} conversations, one try each, nothing cached; "
            "no model was asked, nothing was written"
        )


@dataclass(frozen=True)
class _Made:
    """What a run has already: conversations with an outcome, whether its seeds are judged, and what that cost."""

    conversations: int = 0
    has_judged: bool = False
    cost: float | None = 0.0

    @classmethod
    def of(cls, folder: Path) -> Self:
        from simia.report.usage import read_totals
        from simia.store import Run

        with Run.read(folder) as run:
            names = run.stream_names()
            counts = run.stream("generate").counts() if "generate" in names else None
            totals = read_totals(run)
        done = 0 if counts is None else counts.kept + counts.dropped_total
        return cls(done, counts is not None, 0.0 if totals is None else totals.cost)


def say_models(cast: "Cast") -> None:
    """Which model was chosen and why; where there are several, each line begins with the roles that it plays."""
    reasons = cast.reasons
    for reason in reasons:
        say(f"model: {reason}" if len(reasons) == 1 else reason)
