"""What a simulator is shown in each setting, and what becomes of whatever it says."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from simia.bench.pairs import answer_text
from simia.bench.prediction import Prediction
from simia.bench.sample import Sample
from simia.bench.score import score
from simia.bench.settings import BenchSettings
from simia.bench.subjects import ModelSubject
from simia.bench.suite import Suite
from simia.errors import ConfigError, ContextOverflow, EndpointLost, RequestRefused, ServerFailed
from simia.formats.calls import dump_json, load_json
from simia.models.refusals import DECLINED
from simia.models.scripted import ScriptedModel
from simia.types import ChatReply, ChatRequest, UserMessage, schema_for

Asked = Callable[..., str]


@pytest.fixture(scope="module")
def sample(suite: Suite) -> Sample:
    """A call with a past that changes something."""
    return next(one for one in suite.samples if one.size > 2 and len(one.history) > 1)


@pytest.fixture(scope="module")
def asked(suite: Suite, sample: Sample) -> Asked:
    """The whole text that the sample becomes."""

    def text(**settings: Any) -> str:
        subject = ModelSubject(ScriptedModel([]), suite, BenchSettings(**settings))
        return "\n".join(message.content for message in subject.request(sample).messages)

    return text


def sources(suite: Suite, sample: Sample) -> dict[str, str]:
    return {tool.name: (tool.source or "").strip() for tool in suite.head.worlds[sample.world].tools}


def answered(suite: Suite, sample: Sample, *script: Any, **settings: Any) -> tuple[Prediction, ScriptedModel]:
    model = ScriptedModel(script)
    subject = ModelSubject(model, suite, BenchSettings(**settings))
    return asyncio.run(subject.answer(sample)), model


def test_the_constrained_setting_shows_the_code_of_the_called_tool_alone(
    suite: Suite, sample: Sample, asked: Asked
) -> None:
    text = asked(setting="constrained")
    shown = [name for name, source in sources(suite, sample).items() if source in text]
    assert shown == [sample.call.name]


@pytest.mark.parametrize("setting", ["constrained", "tracked"])
def test_the_whole_state_and_the_call_are_shown_where_the_state_is(asked: Asked, sample: Sample, setting: str) -> None:
    text = asked(setting=setting)
    assert dump_json(sample.state) in text
    assert dump_json({"name": sample.call.name, "arguments": sample.call.arguments}) in text


@pytest.mark.parametrize("setting", ["constrained", "tracked"])
def test_nothing_that_happened_before_is_shown_where_the_state_is(asked: Asked, sample: Sample, setting: str) -> None:
    opening = sample.history[0]
    assert isinstance(opening, UserMessage)
    assert opening.content not in asked(setting=setting)


@pytest.mark.parametrize("setting", ["tracked", "hidden"])
def test_no_code_is_shown_in_the_other_settings(suite: Suite, sample: Sample, asked: Asked, setting: str) -> None:
    text = asked(setting=setting)
    assert all(source not in text for source in sources(suite, sample).values())
    assert "def " not in text


@pytest.mark.parametrize("setting", ["tracked", "hidden"])
def test_every_tool_is_described_in_the_other_settings(
    suite: Suite, sample: Sample, asked: Asked, setting: str
) -> None:
    text = asked(setting=setting)
    assert all(tool.description in text for tool in suite.head.worlds[sample.world].tools)


def test_no_state_is_shown_in_the_hidden_setting(asked: Asked, sample: Sample) -> None:
    text = asked(setting="hidden")
    assert dump_json(sample.state) not in text
    assert all(dump_json(table) not in text for table in sample.state.values() if len(dump_json(table)) > 40)
    assert '"changes"' not in text


def test_what_happened_before_is_shown_in_the_hidden_setting(asked: Asked, sample: Sample) -> None:
    text = asked(setting="hidden")
    assert all(message.content in text for message in sample.history if message.role in ("user", "tool"))


def test_what_the_tool_returned_in_one_example_is_shown_in_the_hidden_setting(suite: Suite) -> None:
    first, second = ({}, {})
    for name in suite.head.worlds:
        one, other = suite.examples(name)
        first[name] = {step.call.name: step.observation for step in reversed(one.steps)}
        second[name] = {step.call.name: step.observation for step in other.steps}
    subject = ModelSubject(ScriptedModel([]), suite, BenchSettings(setting="hidden"))
    in_both = [one for one in suite.samples if one.call.name in first[one.world].keys() & second[one.world].keys()]
    assert in_both
    for sample in in_both:
        text = subject.request(sample).messages[-1].content
        assert first[sample.world][sample.call.name][:1200] in text
        assert second[sample.world][sample.call.name][:1200] not in text


def test_an_example_is_never_the_truth_of_a_sample(suite: Suite) -> None:
    states = {dump_json(sample.state) for sample in suite.samples}
    assert all(dump_json(episode.initial_state) not in states for episode in suite.episodes)


@pytest.mark.parametrize("setting", ["constrained", "tracked"])
def test_a_right_answer_fits_the_schema_that_is_sent(suite: Suite, setting: str) -> None:
    subject = ModelSubject(ScriptedModel([]), suite, BenchSettings(setting=setting))
    for sample in suite.samples:
        schema = subject.request(sample).response_schema
        assert schema is not None
        assert schema_for(schema).accepts(load_json(answer_text(sample)))


def test_no_schema_is_sent_where_the_settings_say_so(suite: Suite, sample: Sample) -> None:
    subject = ModelSubject(ScriptedModel([]), suite, BenchSettings(structured=False))
    assert subject.request(sample).response_schema is None


def test_the_settings_decide_the_sampling(suite: Suite, sample: Sample) -> None:
    settings = BenchSettings(temperature=0.5, max_tokens=99)
    sampling = ModelSubject(ScriptedModel([]), suite, settings).request(sample).sampling
    assert (sampling.temperature, sampling.max_tokens) == (0.5, 99)


@pytest.mark.parametrize("setting", ["constrained", "tracked", "hidden"])
def test_a_right_answer_is_right_in_every_setting(suite: Suite, sample: Sample, setting: Any) -> None:
    prediction, _ = answered(suite, sample, answer_text(sample), setting=setting)
    verdict = score(sample, prediction, with_changes=setting != "hidden")
    assert (verdict.feedback_match, verdict.config_match) == (True, None if setting == "hidden" else True)


def test_changes_are_not_read_where_no_state_was_shown(suite: Suite, sample: Sample) -> None:
    prediction, _ = answered(suite, sample, {"is_error": False, "observation": 1, "changes": 7}, setting="hidden")
    assert (prediction.changes, prediction.problem) == (None, "")


def deep_changes(levels: int) -> str:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return json.dumps({"observation": 1, "changes": [{"op": "put", "path": ["a"], "value": value}]})


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I cannot do that.", "unreadable: "),
        ("[1, 2]", "unreadable: the reply is no JSON object"),
        ('{"changes": []}', "unreadable: the reply has no observation"),
        ('{"observation": 1, "changes": [{"op": "grow"}]}', "unreadable: changes/0: "),
        (ChatReply(text='{"observa', model="m", finish_reason="length"), "too_long: the reply was cut"),
        (ChatReply(text='{"observation": 1}', model="m", finish_reason="length"), "too_long: the reply was cut"),
        (ContextOverflow("9,000 tokens"), "context_overflow: 9,000 tokens"),
        (RequestRefused(f"status 400: it {DECLINED}"), "refused: status 400"),
        (deep_changes(300), "unreadable: the changes are nested more than 100 deep"),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_prediction_with_a_problem(
    suite: Suite, sample: Sample, reply: Any, problem: str
) -> None:
    prediction, _ = answered(suite, sample, reply)
    assert prediction.problem.startswith(problem)


def test_a_reply_that_cannot_be_read_is_kept_word_by_word(suite: Suite, sample: Sample) -> None:
    prediction, _ = answered(suite, sample, "I cannot do that.")
    assert prediction.reply == "I cannot do that."


@pytest.mark.parametrize("error", [ServerFailed("status 500"), EndpointLost("gone"), RequestRefused("no such option")])
def test_an_endpoint_that_is_gone_is_an_error(suite: Suite, sample: Sample, error: Exception) -> None:
    with pytest.raises(type(error)):
        answered(suite, sample, error)


def test_the_first_answer_counts(suite: Suite, sample: Sample) -> None:
    _, model = answered(suite, sample, "no json", answer_text(sample))
    assert len(model.requests) == 1


def test_a_boxed_simulator_is_told_what_is_wrong_and_answers_again(suite: Suite, sample: Sample) -> None:
    prediction, model = answered(suite, sample, "no json", answer_text(sample), boxed=True)
    assert score(sample, prediction).config_match
    assert "no JSON" in model.requests[1].messages[-1].content


def test_a_boxed_simulator_that_stays_wrong_is_inadmissible(suite: Suite, sample: Sample) -> None:
    prediction, model = answered(suite, sample, "a", "b", boxed=True, max_repairs=1)
    assert prediction.problem.startswith("inadmissible: the reply holds no JSON")
    assert (prediction.changes, prediction.reply) == (None, "b")
    assert len(model.requests) == 2


@pytest.mark.parametrize("error", [ContextOverflow("9,000 tokens"), RequestRefused(f"it {DECLINED}")])
def test_a_boxed_simulator_may_be_asked_too_much_too(suite: Suite, sample: Sample, error: Exception) -> None:
    prediction, _ = answered(suite, sample, error, boxed=True)
    assert prediction.problem


def test_a_suite_without_code_cannot_be_asked_in_the_constrained_setting(suite: Suite) -> None:
    name, spec = next(iter(suite.head.worlds.items()))
    bare = spec.model_copy(update={"tools": tuple(t.model_copy(update={"source": None}) for t in spec.tools)})
    head = suite.head.model_copy(update={"worlds": {**suite.head.worlds, name: bare}})
    codeless = Suite(head, suite.episodes, suite.samples, suite.sha256)
    with pytest.raises(ConfigError, match=rf"has no code for the tools of {name}: measure with --setting tracked"):
        ModelSubject(ScriptedModel([]), codeless, BenchSettings())


def test_the_same_sample_is_the_same_request(suite: Suite, sample: Sample) -> None:
    def request() -> ChatRequest:
        return ModelSubject(ScriptedModel([]), suite, BenchSettings()).request(sample)

    assert request().content_id == request().content_id
