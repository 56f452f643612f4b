"""Charts as inline SVG. Lengths along x are percentages and text has a fixed size, so one drawing fits any width.

Colours come from the page's style sheet by class, so that light and dark need no second drawing. Every chart is one
image to a screen reader, and its label says the numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from simia.report.funnel import Bin, Step

_ROW = 38
_COLUMNS_HEIGHT = 170
_AXIS = 22
_TOP = 18
_MOST_TICKS = 8
_LONGEST_LABEL = 29
"""Longer ones lose their middle, so that name and number fit side by side on a phone; the tooltip has it whole."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a bar chart: how long the bar is, and what is written at its right end."""

    label: str
    value: float
    note: str


def count_text(count: int) -> str:
    """``12,345``."""
    return f"{count:,}"


def share_text(share: float) -> str:
    """``7.5 %``, and never 0 or 100 for what is not."""
    if 0 < share < 0.001:
        return "<0.1 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    return f"{share * 100:.1f} %".replace(".0 %", " %")


def funnel_chart(steps: Sequence[Step]) -> Markup:
    """The funnel, one bar a step; each unit is a drawing of its own, because their lengths do not compare."""
    units: list[list[Bar]] = []
    for step in steps:
        if step.opens:
            units.append([])
        note = count_text(step.count) if step.opens else f"{count_text(step.count)} · {share_text(step.share)}"
        units[-1].append(Bar(step.label, step.share, note))
    return Markup("\n").join(bar_chart("Funnel", bars, full=1.0) for bars in units)


def counts_chart(title: str, rows: Sequence[tuple[str, int]], *, whole: int, most: int = 20, tone: str = "") -> Markup:
    """Counted names, longest bar first as given; the tail beyond ``most`` is one last row. ``whole`` is 100 %."""
    shown, tail = rows[:most], rows[most:]
    bars = [Bar(label, count, f"{count_text(count)} · {share_text(count / whole)}") for label, count in shown]
    if tail:
        rest = sum(count for _, count in tail)
        bars.append(Bar(f"{len(tail)} others", rest, f"{count_text(rest)} · {share_text(rest / whole)}"))
    return bar_chart(title, bars, tone=tone)


def bar_chart(title: str, bars: Sequence[Bar], *, full: float | None = None, tone: str = "") -> Markup:
    """Horizontal bars. ``full`` is the value of a bar over the whole width: the largest one, unless given."""
    top = full if full is not None else max((bar.value for bar in bars), default=0)
    spoken = "; ".join(f"{bar.label}: {bar.note}" for bar in bars)
    parts = [open_svg(title, spoken, _ROW * len(bars))]
    for place, bar in enumerate(bars):
        y = place * _ROW
        length = 100 * bar.value / top if top else 0
        parts.append(
            Markup(
                '<g><title>{label}: {note}</title><text x="0" y="{text_y}">{short}</text>'
                '<text class="num" x="100%" y="{text_y}" text-anchor="end">{note}</text>'
                '<rect class="track" x="0" y="{y}" width="100%" height="8" rx="4"/>'
                '<rect class="bar {tone}" x="0" y="{y}" width="{length}%" height="8" rx="4"/></g>'
            ).format(
                label=bar.label,
                short=_short(bar.label),
                note=bar.note,
                text_y=y + 15,
                y=y + 22,
                tone=tone,
                length=f"{length:.2f}",
            )
        )
    parts.append(Markup("</svg>"))
    return Markup("").join(parts)


def histogram_chart(title: str, bins: Sequence[Bin], *, unit: str) -> Markup:
    """Columns over a number line. ``unit`` names what is counted, in the plural."""
    top = max((column.count for column in bins), default=0)
    spoken = "; ".join(f"{column.label}: {count_text(column.count)}" for column in bins if column.count)
    parts = [open_svg(title, spoken, _COLUMNS_HEIGHT)]
    floor = _COLUMNS_HEIGHT - _AXIS
    room = floor - _TOP
    parts.append(
        Markup(
            '<line class="grid" x1="0" x2="100%" y1="{top}" y2="{top}"/>'
            '<text class="faint" x="0" y="{text}">{most} {unit}</text>'
            '<line class="axis" x1="0" x2="100%" y1="{floor}" y2="{floor}"/>'
        ).format(top=_TOP, text=_TOP - 5, most=count_text(top), unit=unit, floor=floor)
    )
    step = -(-len(bins) // _MOST_TICKS) if bins else 1
    for place, column in enumerate(bins):
        pitch = 100 / len(bins)
        height = max(room * column.count / top, 1.5) if column.count else 0
        width = min(pitch * 0.82, 12)
        centre = pitch * (place + 0.5)
        parts.append(
            Markup(
                "<g><title>{label}: {count} {unit}</title>"
                '<rect class="bar" x="{x}%" y="{y}" width="{width}%" height="{height}" rx="2"/></g>'
            ).format(
                label=column.label,
                count=count_text(column.count),
                unit=unit,
                x=f"{centre - width / 2:.2f}",
                y=f"{floor - height:.1f}",
                width=f"{width:.2f}",
                height=f"{height:.1f}",
            )
        )
        if place % step == 0:
            parts.append(
                Markup('<text class="faint num" x="{x}%" y="{y}" text-anchor="middle">{label}</text>').format(
                    x=f"{centre:.2f}", y=_COLUMNS_HEIGHT - 6, label=column.label
                )
            )
    parts.append(Markup("</svg>"))
    return Markup("").join(parts)


def open_svg(title: str, spoken: str, height: int) -> Markup:
    """The beginning of a chart; ``spoken`` says its numbers."""
    return Markup('<svg class="chart" role="img" aria-label="{label}" width="100%" height="{height}">').format(
        label=f"{title}. {spoken or 'nothing counted'}", height=max(height, 1)
    )


def _short(label: str) -> Markup:
    if len(label) <= _LONGEST_LABEL:
        return escape(label)
    half = _LONGEST_LABEL // 2
    return escape(f"{label[: _LONGEST_LABEL - half]}…{label[-half + 1 :]}")
