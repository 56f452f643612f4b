"""Charts as SVG text."""

from simia.models.meter import Meter
from simia.report.charts import Bar, bar_chart, counts_chart, histogram_chart, share_text
from simia.report.funnel import Bin
from simia.report.usage import cost_text, usage_facts


def test_a_label_is_escaped() -> None:
    assert "<script>" not in bar_chart("<script>", [Bar("<script>", 1, "<script>")])


def test_the_longest_bar_fills_the_width() -> None:
    assert 'width="100.00%"' in counts_chart("rules", [("a", 4), ("b", 1)], whole=10)


def test_names_beyond_the_longest_list_are_one_bar() -> None:
    chart = counts_chart("rules", [(f"rule-{n}", 1) for n in range(9)], whole=9, most=4)

    assert "5 others" in chart


def test_a_long_name_keeps_both_ends_and_is_whole_in_the_tooltip() -> None:
    name = "list_products_in_a_category_with_reviews"

    chart = counts_chart("tools", [(name, 1)], whole=1)

    assert f"<title>{name}:" in chart
    assert "…" in chart
    assert "_with_reviews<" in chart


def test_a_column_that_counts_anything_can_be_seen() -> None:
    chart = histogram_chart("lengths", [Bin(1, 1, 1), Bin(2, 2, 100_000)], unit="trajectories")

    assert 'height="1.5"' in chart


def test_nothing_counted_is_a_drawing_without_columns() -> None:
    assert "<rect" not in histogram_chart("lengths", [], unit="trajectories")


def test_a_share_is_never_rounded_to_none_or_all() -> None:
    assert [share_text(share) for share in (0, 0.0001, 0.5, 0.99999, 1)] == [
        "0 %",
        "<0.1 %",
        "50 %",
        ">99.9 %",
        "100 %",
    ]


def test_a_model_without_a_price_does_not_cost_nothing() -> None:
    assert cost_text(None) == "no price known"


def test_a_cost_below_a_cent_is_not_zero() -> None:
    assert cost_text(0.00042) == "$0.00042"


def test_a_run_that_asked_no_model_has_no_usage() -> None:
    assert usage_facts(None) == []


def test_what_was_not_counted_is_left_out() -> None:
    assert [name for name, _ in usage_facts(Meter({"requests": 2}).totals())] == ["Requests", "Cost"]


def test_a_model_without_a_price_is_said_beside_the_tokens() -> None:
    totals = Meter({"requests": 2, "usage": {"prompt_tokens": 9}, "cost": 0.1, "unpriced": ["mine"]}).totals()

    assert ("Cost", ["no price known"]) in usage_facts(totals)
