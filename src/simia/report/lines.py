"""Rates over steps as inline SVG: lines with bands of confidence, reference lines behind them, and bars for a table.

Lengths along x are percentages, as in :mod:`simia.report.charts`; what cannot be given in per cent, a band or a line
through many points, is drawn in an inner picture that is stretched to the width. A line has a colour and a mark, so
that colour is never the only difference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simia.report.charts import open_svg, share_text
from simia.types.rate import Rate

COLOURS = 8
_MARKS = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4-4h8v8h-8z",
    "M0-5.5L5 4h-10z",
    "M0-5.5L5.5 0L0 5.5L-5.5 0z",
    "M0 5.5L5-4h-10z",
    "M-5-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
    "M-5-5L0-2L5-5L2 0L5 5L0 2L-5 5L-2 0z",
)
_TOP = 22
_FLOOR = 262
_HEIGHT = 302
_LEFT = 9.0  # per cent of the width, for what the grid lines are called
_FEW = 3  # lines whose bands do not drown each other
_DODGE = 0.35  # per cent between two runs at one step, so that equal rates do not hide each other


@dataclass(frozen=True, slots=True)
class Tick:
    """A step on the axis: its name in full, what stands at the axis, and a smaller line below."""

    name: str
    label: str
    below: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """The rates of one run, by the step's place on the axis. Steps before ``first`` are no quantity, and are marked
    without being joined to the others.
    """

    name: str
    series: int
    rates: Sequence[tuple[int, Rate]]
    first: int = 0


@dataclass(frozen=True, slots=True)
class Reference:
    """A thin line behind the others; its values lie between 0 and 1."""

    name: str
    values: Sequence[tuple[int, float]]
    note: str = ""


def rates_chart(
    title: str, ticks: Sequence[Tick], lines: Sequence[Line], references: Sequence[Reference] = ()
) -> Markup:
    """Rates from 0 to 100 % over ``ticks``."""
    spoken = "; ".join(
        f"{line.name}: " + ", ".join(f"{ticks[place].name} {rate_words(rate)}" for place, rate in line.rates)
        for line in lines
    )
    parts = [open_svg(title, spoken, _HEIGHT), *_grid(ticks)]
    stretched = Markup(
        '<svg class="plot" x="0" y="0" width="100%" height="{height}" viewBox="0 0 1000 {height}" '
        'preserveAspectRatio="none">'
    )
    parts.append(stretched.format(height=_HEIGHT))
    parts += [_reference(reference, len(ticks)) for reference in references]
    is_crowded = len(lines) > _FEW
    parts += [_band_and_line(line, len(ticks), _shift(line, lines), is_one_of_many=is_crowded) for line in lines]
    parts.append(Markup("</svg>"))
    parts += [_marks(line, ticks, _shift(line, lines)) for line in lines]
    return Markup("").join([*parts, Markup("</svg>")])


def swatch(series: int) -> Markup:
    """The mark of a run, for legends and tables."""
    return Markup(
        '<svg class="swatch {colour}" width="14" height="14" viewBox="-7 -7 14 14" role="presentation" '
        'aria-label="">{mark}</svg>'
    ).format(colour=_colour(series), mark=_mark(series))


def interval_bar(rate: Rate) -> Markup:
    """The 95 % interval of a rate with a stroke at the rate."""
    if rate.value is None:
        return Markup("")
    return Markup(
        '<svg class="interval" role="img" aria-label="{label}" width="100%" height="12">'
        '<rect class="track" x="0" y="4" width="100%" height="4" rx="2"/>'
        '<rect class="range" x="{low}%" y="2" width="{width}%" height="8" rx="2"/>'
        '<line x1="{value}%" x2="{value}%" y1="0" y2="12"/></svg>'
    ).format(
        label=rate_words(rate),
        low=_number(100 * rate.low),
        width=_number(100 * (rate.high - rate.low)),
        value=_number(min(max(100 * rate.value, 0.5), 99.5)),
    )


def rate_words(rate: Rate) -> str:
    """``5 of 25 (20 %, between 9 and 39)``."""
    if rate.value is None:
        return "nothing asked"
    between = f"between {100 * rate.low:.0f} and {100 * rate.high:.0f}"
    return f"{rate.hits} of {rate.count} ({share_text(rate.value)}, {between})"


def _grid(ticks: Sequence[Tick]) -> Iterable[Markup]:
    for value in (1.0, 0.75, 0.5, 0.25, 0.0):
        yield Markup(
            '<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
            '<text class="faint num" x="0" y="{text}">{label}</text>'
        ).format(
            kind="grid" if value else "axis",
            y=_y(value),
            text=_number(_height(value) - 5),
            label=f"{100 * value:.0f} %",
        )
    for place, tick in enumerate(ticks):
        yield Markup(
            '<g><title>{name}</title><text class="num tick" x="{x}%" y="{y}" text-anchor="middle">{label}</text>'
            '<text class="faint num" x="{x}%" y="{below_y}" text-anchor="middle">{below}</text></g>'
        ).format(
            name=tick.name,
            x=_number(_x(place, len(ticks))),
            y=_FLOOR + 17,
            label=tick.label,
            below_y=_FLOOR + 34,
            below=tick.below,
        )


def _reference(reference: Reference, steps: int) -> Markup:
    points = " ".join(f"{_number(10 * _x(place, steps))},{_y(value)}" for place, value in reference.values)
    return Markup(
        '<g class="reference"><title>{name}</title><polyline class="reach" points="{points}"/>'
        '<polyline points="{points}"/></g>'
    ).format(name=" ".join(filter(None, (reference.name, reference.note))), points=points)


def _band_and_line(line: Line, steps: int, shift: float, *, is_one_of_many: bool) -> Markup:
    known = [
        (10 * (_x(place, steps) + shift), rate)
        for place, rate in line.rates
        if rate.value is not None and place >= line.first
    ]
    upper = [f"{_number(x)},{_y(rate.high)}" for x, rate in known]
    lower = [f"{_number(x)},{_y(rate.low)}" for x, rate in known]
    middle = [f"{_number(x)},{_y(rate.value or 0.0)}" for x, rate in known]
    return Markup(
        '<g class="{colour}{many}" data-series="{series}"><polygon points="{band}"/><polyline points="{middle}"/></g>'
    ).format(
        colour=_colour(line.series),
        many=" many" if is_one_of_many else "",
        series=line.series,
        band=" ".join([*upper, *reversed(lower)]),
        middle=" ".join(middle),
    )


def _marks(line: Line, ticks: Sequence[Tick], shift: float) -> Markup:
    marks = [
        Markup(
            '<svg x="{x}%" y="{y}" width="1" height="1"><title>{title}</title>'
            '<circle class="reach" r="11"/>{mark}</svg>'
        ).format(
            x=_number(_x(place, len(ticks)) + shift),
            y=_y(rate.value),
            title=f"{line.name}, {ticks[place].name}: {rate_words(rate)}",
            mark=_mark(line.series),
        )
        for place, rate in line.rates
        if rate.value is not None
    ]
    return Markup('<g class="{colour} marks" data-series="{series}">{marks}</g>').format(
        colour=_colour(line.series), series=line.series, marks=Markup("").join(marks)
    )


def _mark(series: int) -> Markup:
    return Markup('<path class="mark" d="{path}"/>').format(path=_MARKS[series % len(_MARKS)])


def _colour(series: int) -> str:
    return f"series s{series % COLOURS}"


def _shift(line: Line, lines: Sequence[Line]) -> float:
    return (lines.index(line) - (len(lines) - 1) / 2) * min(_DODGE, 2 / len(lines))


def _x(place: int, steps: int) -> float:
    return _LEFT + (100 - _LEFT) * (place + 0.5) / max(steps, 1)


def _height(value: float) -> float:
    return _FLOOR - (_FLOOR - _TOP) * value


def _y(value: float) -> str:
    return _number(_height(value))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
