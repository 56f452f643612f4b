"""``--dry-run``: what a run would refuse, and about what it would ask and cost."""

from pathlib import Path
from typing import TYPE_CHECKING

from simia.cli.console import result_facts, say

if TYPE_CHECKING:
    from simia.synthesis.cast import Cast
    from simia.synthesis.recipe import Recipe


def rehearse(recipe: "Recipe", cast: "Cast", stages: tuple[str, ...], folder: Path | None, *, quiet: bool) -> None:
    """Refuse what the run would refuse, the run in ``folder`` where one is to be gone on with too; then estimate."""
    from simia.report.usage import cost_text
    from simia.synthesis.estimate import estimate
    from simia.synthesis.manifest import demand_same, manifest_of
    from simia.synthesis.run import demand_usable

    if not quiet:
        say_models(cast)
    settled = cast.settled(recipe)
    demand_usable(settled, cast, stages)
    if folder is not None:
        demand_same(recipe, cast, folder)
    else:
        manifest_of(settled, cast)
    guess = estimate(recipe, cast)
    judged = f", {guess.judged:,} of them to judge seeds" if guess.judged else ""
    result_facts(
        [
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


def say_models(cast: "Cast") -> None:
    """Which model was chosen and why; where there are several, each line begins with the roles that it plays."""
    reasons = cast.reasons
    for reason in reasons:
        say(f"model: {reason}" if len(reasons) == 1 else reason)
