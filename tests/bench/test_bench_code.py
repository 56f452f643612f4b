"""The code in a constrained prompt tells everything: run on the shown state, it answers every sample."""

import copy
import datetime
import fnmatch
import json
import posixpath
import re
from itertools import islice
from typing import Any

import pytest

from simia import worlds
from simia.bench.build import with_sources
from simia.bench.collect import harvest
from simia.bench.explore import walks_of
from simia.bench.prediction import read_prediction
from simia.bench.sample import Sample
from simia.bench.score import score
from simia.bench.suite import read_suite, suite_path
from simia.types import StateDelta, WorldSpec


class Refused(Exception):
    """What the code of a tool raises where it says no."""


# What any reader of Python knows; everything else has to stand in the prompt.
LIBRARY: dict[str, Any] = {
    "Refused": Refused,
    "date": datetime.date,
    "timedelta": datetime.timedelta,
    "fnmatchcase": fnmatch.fnmatchcase,
    "posixpath": posixpath,
    "re": re,
}


def answer(spec: WorldSpec, sample: Sample) -> dict[str, Any]:
    """What the shown code does on the shown state, as a simulator would say it."""
    space = dict(LIBRARY)
    exec("from __future__ import annotations\n" + (spec.tool[sample.call.name].source or ""), space)
    state = copy.deepcopy(sample.state)
    try:
        result = space[sample.call.name](state, **copy.deepcopy(sample.call.arguments))
    except Refused as refusal:
        return {"is_error": True, "observation": {"error": str(refusal)}, "changes": []}
    changes = StateDelta.between(sample.state, state).model_dump(mode="json")["changes"]
    return {"is_error": False, "observation": result, "changes": changes}


def is_right(spec: WorldSpec, sample: Sample) -> bool:
    said = json.loads(json.dumps(answer(spec, sample)))
    verdict = score(sample, read_prediction(said, with_changes=True))
    return bool(verdict.config_match and verdict.feedback_match and verdict.error_match)


def test_every_sample_of_the_bundled_suite_can_be_answered_from_its_prompt() -> None:
    suite = read_suite(suite_path("simbench-400"))
    assert [one.id for one in suite.samples if not is_right(suite.head.worlds[one.world], one)] == []


@pytest.mark.parametrize("name", worlds.TRAINING)
def test_every_sample_of_a_training_world_can_be_answered_from_its_prompt(name: str) -> None:
    world = worlds.load(name)
    spec = with_sources(world)
    samples = list(islice(harvest(name, world, walks_of(world, 60, 7)), 400))
    assert len({one.call.name for one in samples}) == len(spec.tools)
    assert [(one.call.name, one.call.arguments) for one in samples if not is_right(spec, one)] == []
