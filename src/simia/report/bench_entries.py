"""The runs of one page in the order of the leaderboard, each with a name of its own, and what the page says of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from simia.bench.baselines import PREFIX
from simia.bench.naming import named
from simia.bench.remarks import remarks
from simia.bench.results import Results, Verdict
from simia.report.charts import count_text, share_text
from simia.types.rate import Rate

_GIVEN = {
    "constrained": "the whole state and the code of the called tool",
    "tracked": "the whole state, and no code",
    "hidden": "what happened before in the conversation, and no state",
}


@dataclass(frozen=True)
class Entry:
    """A run with its name on the page and its place, which is also the number of its colour and mark."""

    place: int
    name: str
    run: Results

    @property
    def is_hidden(self) -> bool:
        """Whether the simulator saw no state, so that there is no Config Match."""
        return self.run.settings.setting == "hidden"

    @property
    def measure(self) -> str:
        """What :meth:`rate` counts."""
        return "Feedback Match" if self.is_hidden else "Config Match"

    def is_right(self, verdict: Verdict) -> bool:
        """Config Match, or Feedback Match where there is no other."""
        score = verdict.score
        return score.feedback_match if self.is_hidden else score.config_match is True

    def rate(self, verdicts: Iterable[Verdict] | None = None) -> Rate:
        """The share of right ones among ``verdicts``, all by default."""
        return Rate.of(map(self.is_right, self.run.verdicts if verdicts is None else verdicts))


def entries(runs: Sequence[Results]) -> list[Entry]:
    """``runs`` in the order and with the names of every table."""
    return [Entry(place, name, run) for place, (name, run) in enumerate(named(runs))]


def lead(shown: Sequence[Entry]) -> str:
    """What was measured, in plain words."""
    if not shown:
        return "No run was given."
    heads = {entry.run.suite.sha256: entry.run.suite for entry in shown}
    suites = " and ".join(
        f"{suite.head.name}, version {suite.head.version} ({count_text(len(suite.samples))} calls of "
        f"{count_text(len(suite.head.worlds))} executable world{'s' if len(suite.head.worlds) != 1 else ''})"
        for suite in heads.values()
    )
    settings = sorted({entry.run.settings.setting for entry in shown}, key=list(_GIVEN).index)
    given = f"was given {_GIVEN[settings[0]]}"
    if len(settings) > 1:
        words = "; ".join(f"{setting}: {_GIVEN[setting]}" for setting in settings)
        given = f"was given what its setting allows ({words})"
    state = (
        "An observation is right if it says the same as the world's."
        if settings == ["hidden"]
        else "A state is right only if the whole next state is the world's; an observation, if it says the same."
    )
    return f"Suite {suites}. A simulator {given}, and said what a tool call shows and changes. {state}"


def sentence(entry: Entry) -> str:
    """The honest result of one run."""
    run = entry.run
    if not run.verdicts:
        return "has no answer yet."
    shown = f"the observation of {_of(run.feedback_match())}"
    unusable = sum(run.problems().values())
    end = f"; {count_text(unusable)} of its answers could not be read or applied." if unusable else "."
    if entry.is_hidden:
        return f"was right about {shown} of {_calls(len(run.verdicts))}, of which it saw no state{end}"
    still, moving = entry.rate(run.unchanging()), entry.rate(run.changing())
    parts = []
    if still.count:
        parts.append(f"{_of(still)} of the {_calls(still.count)} that change{_s(still.count)} nothing")
    if moving.count:
        parts.append(f"{_of(moving)} of the {_calls(moving.count)} that change{_s(moving.count)} something")
    return f"was right about the state after {' and '.join(parts)}, and about {shown} of all{end}"


def warnings(shown: Sequence[Entry]) -> Iterator[str]:
    """What a reader must know before the numbers."""
    yield from remarks([(entry.name, entry.run) for entry in shown])
    hidden = [entry.name for entry in shown if entry.is_hidden]
    if hidden:
        names = ", ".join(hidden)
        yield f"{names}: hidden setting, so that there is no Config Match; Feedback Match stands in its place."
    for entry in shown:
        run = entry.run
        if run.settings.model.name == f"{PREFIX}oracle" and any(not entry.is_right(v) for v in run.verdicts):
            yield f"{entry.name}: the executable worlds do not agree with the suite; trust no number on this page."


def _of(rate: Rate) -> str:
    return "none" if rate.value is None else share_text(rate.value).replace(" ", "\u00a0")


def _calls(count: int) -> str:
    return f"{count_text(count)} call{'' if count == 1 else 's'}"


def _s(count: int) -> str:
    return "s" if count == 1 else ""
