"""One reward of several parts."""

from collections.abc import Mapping, Sequence

from simia.environment.together import together
from simia.types import Played, Reward, RewardFunction


class Combined:
    """The weighted mean of the parts that have something to say.

    Args:
        parts: who is asked, by name. A part without weight is asked only as a gate.
        weights: how much each part counts in the mean.
        gates: names of parts without which nothing counts. They are asked first, one after another, so the cheap ones
            should stand first: below 1 the reward is 0, absent there is none at all, and in both cases nobody else is
            asked.
    """

    def __init__(
        self, parts: Mapping[str, RewardFunction], weights: Mapping[str, float], gates: Sequence[str] = ()
    ) -> None:
        self._parts = parts
        self._weights = {name: weight for name, weight in weights.items() if weight > 0}
        self._gates = tuple(gates)

    async def __call__(self, played: Played) -> Reward | None:
        """The reward with the value of every part that was asked and had something to say, or None.

        Raises:
            JudgeError, ModelError: as the parts.
        """
        found: dict[str, Reward] = {}
        for name in self._gates:
            reward = await self._parts[name](played)
            if reward is None:
                return None
            found[name] = reward
            if reward.value < 1:
                return _joined(0.0, f"gate {name} is closed", found)
        waiting = [name for name in self._weights if name not in found]
        answers = await together(self._asked(name, played) for name in waiting)
        found |= {name: reward for name, reward in zip(waiting, answers, strict=True) if reward is not None}
        weights = {name: weight for name, weight in self._weights.items() if name in found}
        if not weights:
            return None
        value = sum(weight * found[name].value for name, weight in weights.items()) / sum(weights.values())
        return _joined(value, "", found)

    async def _asked(self, name: str, played: Played) -> Reward | None:
        return await self._parts[name](played)


def _joined(value: float, opening: str, found: Mapping[str, Reward]) -> Reward:
    reasons = [f"{name} {reward.value:g}: {reward.reason}" for name, reward in found.items()]
    return Reward(
        value=value,
        reason="; ".join([*([opening] if opening else []), *reasons]),
        parts={name: reward.value for name, reward in found.items()},
        votes=tuple(vote for reward in found.values() for vote in reward.votes),
    )
