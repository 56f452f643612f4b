"""What a run has used, in words."""

from simia.models.meter import Meter, MeterTotals
from simia.report.charts import count_text, share_text
from simia.store import Run


def read_totals(run: Run) -> MeterTotals | None:
    """The totals that ``run`` saved last, or None where no model was asked yet.

    Raises:
        CorruptStream: the saved meter is no JSON object.
    """
    saved = run.load_meter()
    return None if saved is None else Meter(saved).totals()


def usage_facts(totals: MeterTotals | None) -> list[tuple[str, list[str]]]:
    """Requests, tokens, cost and latency as facts; what was not counted is left out."""
    if totals is None:
        return []
    failures = f" (and {count_text(totals.failures)} without an answer)" if totals.failures else ""
    facts = [("Requests", [count_text(totals.requests) + failures])]
    usage = totals.usage
    if usage.prompt_tokens:
        share = usage.cached_tokens / usage.prompt_tokens
        note = f" ({share_text(share)} cached)" if usage.cached_tokens else ""
        facts.append(("Tokens in", [count_text(usage.prompt_tokens) + note]))
    if usage.completion_tokens:
        note = f" ({count_text(usage.reasoning_tokens)} reasoning)" if usage.reasoning_tokens else ""
        facts.append(("Tokens out", [count_text(usage.completion_tokens) + note]))
    facts.append(("Cost", [cost_text(totals.cost)]))
    if totals.p50_s is not None and totals.p95_s is not None:
        facts.append(("Latency", [f"p50 {_seconds(totals.p50_s)}, p95 {_seconds(totals.p95_s)}"]))
    if totals.tokens_per_s is not None:
        facts.append(("Speed", [f"{totals.tokens_per_s:,.0f} tokens/s"]))
    return facts


def cost_text(cost: float | None) -> str:
    """``$1.24``, with more digits for less than a cent; a model without a price has no cost, which is not $0."""
    if cost is None:
        return "no price known"
    if cost == 0 or cost >= 0.01:
        return f"${cost:,.2f}"
    return f"${cost:.2g}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
