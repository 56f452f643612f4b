"""What a run has used, in words: from the totals that a meter saved."""

from collections.abc import Mapping
from typing import Any

from simia.report.charts import count_text, share_text


def usage_facts(totals: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Requests, tokens, cost and latency as facts; what the meter did not say is left out."""
    facts: list[tuple[str, list[str]]] = []
    if "requests" in totals:
        facts.append(("Requests paid for", [count_text(totals["requests"])]))
    usage = totals.get("usage") or {}
    prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    if prompt or completion:
        cached = usage.get("cached_tokens", 0)
        note = f" ({share_text(cached / prompt)} cached)" if cached and prompt else ""
        facts.append(("Tokens in", [count_text(prompt) + note]))
        thought = usage.get("reasoning_tokens", 0)
        facts.append(
            ("Tokens out", [count_text(completion) + (f" ({count_text(thought)} reasoning)" if thought else "")])
        )
    if "cost" in totals:
        facts.append(("Cost", [cost_text(totals["cost"])]))
    if totals.get("p50_s"):
        facts.append(("Latency", [f"p50 {totals['p50_s']:.2g} s, p95 {totals.get('p95_s') or 0:.2g} s"]))
    return facts


def cost_text(cost: float | None) -> str:
    """``$1.24``, with more digits for less than a cent; a model without a price has no cost, which is not $0."""
    if cost is None:
        return "no price known"
    if cost == 0 or cost >= 0.01:
        return f"${cost:,.2f}"
    return f"${cost:.2g}"
