"""What the episodes of one step came to, in figures."""

from collections import Counter
from collections.abc import Sequence

from simia.models.meter import MeterTotals
from simia.types import Episode, Party

_MASKING = (Party.SIMULATOR, Party.USER, Party.JUDGE, Party.INFRASTRUCTURE)


def figures_of(episodes: Sequence[Episode], seconds: float) -> dict[str, float | None]:
    """The columns of the curves that come from the episodes of a step, those that were played again included."""
    count = len(episodes)
    if not count:
        return {}
    rewards = [episode.reward.value for episode in episodes if episode.reward is not None]
    blamed = Counter(episode.attributed_to for episode in episodes if episode.is_masked)
    return {
        "success": sum(reward >= 1 for reward in rewards) / len(rewards) if rewards else None,
        "turns": sum(episode.turns for episode in episodes) / count,
        "masked": sum(blamed.values()) / count,
        **{f"masked_{party.value}": blamed[party] / count for party in _MASKING},
        "truncated": sum(episode.is_truncated for episode in episodes) / count,
        "reruns": float(sum("+" in episode.id.rsplit("/", 1)[-1] for episode in episodes)),
        "environment_s": seconds,
    }


def usage_between(before: MeterTotals, after: MeterTotals) -> dict[str, float | None]:
    """The columns of the curves about what the models behind the environment used."""
    return {
        "prompt_tokens": float(after.usage.prompt_tokens - before.usage.prompt_tokens),
        "cached_tokens": float(after.usage.cached_tokens - before.usage.cached_tokens),
        "simulator_tokens": float(after.usage.completion_tokens - before.usage.completion_tokens),
        "cost": None if after.cost is None or before.cost is None else after.cost - before.cost,
    }
