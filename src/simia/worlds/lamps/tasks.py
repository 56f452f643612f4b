"""What somebody in the house may want."""

import random

from simia.worlds.drafting import Draft, NoTask, TaskKind


def switch_one(rng: random.Random, draft: Draft) -> str:
    room = rng.choice(sorted(draft.state["lamps"]))
    verb = _switch(draft, room)
    return f"Turn {verb} the lamp in the {room}."


def switch_two(rng: random.Random, draft: Draft) -> str:
    lamps = draft.state["lamps"]
    is_on = rng.random() < 0.5
    alike = [room for room in sorted(lamps) if lamps[room] is is_on]
    if len(alike) < 2:
        raise NoTask("no two lamps are alike")
    first, second = rng.sample(alike, 2)
    verb = _switch(draft, first)
    _switch(draft, second)
    return f"Turn {verb} the lamps in the {first} and in the {second}."


def _switch(draft: Draft, room: str) -> str:
    verb = "off" if draft.state["lamps"][room] else "on"
    draft.do(f"turn_{verb}", room=room)
    return verb


KINDS: tuple[TaskKind, ...] = (switch_one, switch_two)
