"""Percentiles of latencies in constant memory."""

import math

_GROWTH = 1.02
_SHORTEST_S = 0.0001
_LONGEST_S = 86_400.0
_LOG_GROWTH = math.log(_GROWTH)


class LatencyHistogram:
    """Counts in buckets that grow by 2 %, so a percentile is right to 1 % and at most about 1,040 counts are held.

    Buckets and not a streaming estimate (P-square), because counts of two parts of a run can be added exactly: a
    resumed run reports what an uninterrupted one would.
    """

    __slots__ = ("_counts", "total")

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        self._counts = {int(bucket): count for bucket, count in (counts or {}).items()}
        self.total = sum(self._counts.values())

    def add(self, seconds: float) -> None:
        """Count one latency."""
        clipped = min(max(seconds, _SHORTEST_S), _LONGEST_S)
        bucket = int(math.log(clipped / _SHORTEST_S) / _LOG_GROWTH)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self.total += 1

    def percentile(self, share: float) -> float | None:
        """The latency in seconds that ``share`` (0 to 1) of the counted ones do not pass; None without any."""
        if not self.total:
            return None
        wanted = max(1, math.ceil(share * self.total))
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= wanted:
                return float(_SHORTEST_S * _GROWTH ** (bucket + 0.5))
        raise AssertionError("the counts do not add up to their total")

    def as_dict(self) -> dict[str, int]:
        """The counts as JSON; the constructor reads it back."""
        return {str(bucket): count for bucket, count in self._counts.items()}
