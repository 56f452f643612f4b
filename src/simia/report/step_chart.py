"""Figures over the steps of a run, as one drawing: every value as a dot, and their running mean as a line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup, escape

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 12, 28
_LEGEND = 16
_SLACK = 1e-9  # so far a bound may be past a round number and still be it
_TONES = ("one", "two", "three", "four")
STYLE = (files("simia.report") / "templates" / "training.css").read_text(encoding="utf-8")
"""How the drawings look in a page; a drawing of its own carries it along."""


@dataclass(frozen=True, slots=True)
class Series:
    """One figure over the steps: ``points`` are (step, value), in order. ``over`` so many values make the line's mean;
    with 1 it goes through every dot.
    """

    name: str
    points: Sequence[tuple[int, float]]
    over: int = 5


def step_chart(title: str, series: Sequence[Series], *, low: float | None = None, high: float | None = None) -> Markup:
    """The drawing. The axis spans round numbers around the values, ``low`` and ``high``."""
    values = [value for one in series for _, value in one.points]
    steps = [step for one in series for step, _ in one.points]
    ticks = round_ticks(
        min(values, default=0.0) if low is None else low, max(values, default=1.0) if high is None else high
    )
    bottom, top = ticks[0], ticks[-1]
    first, last = min(steps, default=0), max(max(steps, default=1), min(steps, default=0) + 1)

    head = _TOP + (_LEGEND * len(series) if len(series) > 1 else 0)

    def x(step: float) -> float:
        return _LEFT + (step - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - bottom) / (top - bottom) * (_HEIGHT - head - _BOTTOM)

    parts = [_axes(first, last, ticks, head)]
    for place, one in enumerate(series):
        tone = _TONES[place % len(_TONES)]
        dots = "".join(f'<circle cx="{x(step):.1f}" cy="{y(value):.1f}" r="2"/>' for step, value in one.points)
        line = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in running_mean(one.points, one.over))
        parts.append(f'<g class="{tone}">{dots}<polyline points="{line}"/></g>')
        if len(series) > 1:
            where = f'x="{_LEFT}" y="{_TOP + _LEGEND * place + 4}"'
            parts.append(f'<text class="{tone} label" {where}>{escape(one.name)}</text>')
    said = "; ".join(
        f"{one.name}: {one.points[0][1]:.3g} at step {one.points[0][0]}, {one.points[-1][1]:.3g} at {one.points[-1][0]}"
        for one in series
        if one.points
    )
    label = escape(f"{title}. {said}")
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return Markup(f'<svg class="steps" {size} role="img" aria-label="{label}">{"".join(parts)}</svg>')


def standalone(drawing: Markup) -> str:
    """The drawing as a file of its own, with its style."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    return str(drawing).replace("<svg ", head, 1).replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def running_mean(points: Sequence[tuple[int, float]], over: int) -> list[tuple[int, float]]:
    """Each point with the mean of it and those before it, ``over`` in all."""
    means = []
    for place, (step, _) in enumerate(points):
        window = [value for _, value in points[max(0, place - over + 1) : place + 1]]
        means.append((step, sum(window) / len(window)))
    return means


def round_ticks(low: float, high: float) -> list[float]:
    """Four to eight equidistant round numbers, from at most ``low`` to at least ``high``."""
    if high <= low:
        high = low + 1.0
    unit = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(unit * size for size in (1.0, 2.0, 5.0, 10.0) if (high - low) / (unit * size) <= 6)
    first, last = math.floor(low / step + _SLACK), math.ceil(high / step - _SLACK)
    return [place * step for place in range(first, last + 1)]


def _axes(first: int, last: int, ticks: Sequence[float], head: int) -> str:
    parts = []
    for place, value in enumerate(ticks):
        height = _HEIGHT - _BOTTOM - place / (len(ticks) - 1) * (_HEIGHT - head - _BOTTOM)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{number_text(value)}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        step = round(first + (last - first) * share)
        across = _LEFT + share * (_WIDTH - _LEFT - _RIGHT)
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        parts.append(f'<text x="{across:.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">step {step}</text>')
    return "".join(parts)


def number_text(value: float) -> str:
    """A number in at most seven signs: ``48k``, ``1.2M``, ``-0.013``."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and sign == "M"):
            return f"{value / size:.3g}{sign}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.2g}" if abs(value) < 0.1 else f"{value:.3g}"
