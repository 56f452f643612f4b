"""What somebody in the house may want: some lamps switched, and all others left as they are."""

import random
from collections.abc import Sequence

from simia.worlds.drafting import Draft, NoTask, TaskKind, expression_of


def switch_one(rng: random.Random, draft: Draft) -> str:
    room = rng.choice(sorted(draft.state["lamps"]))
    return f"Turn {_switched(draft, (room,))} the lamp in the {room}."


def switch_two(rng: random.Random, draft: Draft) -> str:
    lamps = draft.state["lamps"]
    is_on = rng.random() < 0.5
    alike = [room for room in sorted(lamps) if lamps[room] is is_on]
    if len(alike) < 2:
        raise NoTask("no two lamps are alike")
    first, second = rng.sample(alike, 2)
    return f"Turn {_switched(draft, (first, second))} the lamps in the {first} and in the {second}."


def _switched(draft: Draft, rooms: Sequence[str]) -> str:
    verb = "off" if draft.state["lamps"][rooms[0]] else "on"
    for room in rooms:
        draft.do(f"turn_{verb}", room=room)
    draft.demand("the lamps are as wanted", expression_of(("lamps",), draft.state["lamps"]))
    return verb


KINDS: tuple[TaskKind, ...] = (switch_one, switch_one, switch_one, switch_two)
