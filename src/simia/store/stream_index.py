"""What is known of each item of a stream, in eighteen bytes."""

from array import array
from collections.abc import Iterator

from simia.errors import StoreError
from simia.store.counts import Counts
from simia.store.line import Fate

_ABSENT, _KEPT, _FAILED, _FIRST_RULE = 0, 1, 2, 3
_MAX_RULES = 0xFFFF - _FIRST_RULE
_MAX_ORDINAL = 0xFFFF_FFFF
_STEP = 1024


class StreamIndex:
    """Fate, rule, offset and length of the last line of each ordinal, in arrays: a dict would take ten times as much.

    Ordinals are dense: memory goes with the largest one.
    """

    def __init__(self) -> None:
        self._codes = array("H")
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._tally = [0] * _FIRST_RULE
        self._rules: list[str] = []
        self._code_of_rule: dict[str, int] = {}
        self._end = 0

    def code(self, ordinal: int, fate: Fate, rule: str) -> int:
        """The number that :meth:`put` takes for a fate, with room made for the ordinal; ``rule`` is for dropped items.

        Raises:
            StoreError: the ordinal is negative or beyond 32 bits, or there are more than 65,532 different rules.
        """
        if ordinal >= len(self._codes):
            self._grow(ordinal)
        elif ordinal < 0:
            raise StoreError(f"an item has the ordinal {ordinal}: ordinals start at 0")
        if fate == "kept":
            return _KEPT
        if fate == "failed":
            return _FAILED
        return self._code_of_rule.get(rule) or self._new_rule(rule)

    def put(self, ordinal: int, code: int, offset: int, length: int) -> None:
        """The last line of ``ordinal`` now stands at ``offset``. Cannot fail, so a written line is never unknown."""
        self._tally[self._codes[ordinal]] -= 1
        self._tally[code] += 1
        self._codes[ordinal] = code
        self._offsets[ordinal] = offset
        self._lengths[ordinal] = length
        if ordinal >= self._end:
            self._end = ordinal + 1

    def fate(self, ordinal: int) -> Fate | None:
        """What became of the item, or None where it has no line yet."""
        code = self._codes[ordinal] if 0 <= ordinal < self._end else _ABSENT
        if code == _ABSENT:
            return None
        return "kept" if code == _KEPT else "failed" if code == _FAILED else "dropped"

    def rule(self, ordinal: int) -> str:
        """The rule that dropped the item; only for ordinals whose fate is dropped."""
        return self._rules[self._codes[ordinal] - _FIRST_RULE]

    def is_done(self, ordinal: int) -> bool:
        """Whether the item was kept or dropped: a failed one runs again."""
        return 0 <= ordinal < self._end and self._codes[ordinal] not in (_ABSENT, _FAILED)

    def place(self, ordinal: int) -> tuple[int, int]:
        """Offset and length of the item's last line; only for ordinals that have one."""
        return self._offsets[ordinal], self._lengths[ordinal]

    def ordinals(self, fate: Fate) -> Iterator[int]:
        """The ordinals with that fate, ascending; those that were added while iterating are included at the end."""
        ordinal = 0
        while ordinal < self._end:
            code = self._codes[ordinal]
            if code == _KEPT if fate == "kept" else code == _FAILED if fate == "failed" else code >= _FIRST_RULE:
                yield ordinal
            ordinal += 1

    def counts(self) -> Counts:
        """How many ordinals have which fate."""
        dropped = {rule: n for rule, n in zip(self._rules, self._tally[_FIRST_RULE:], strict=True) if n}
        kept, failed = self._tally[_KEPT], self._tally[_FAILED]
        return Counts(seen=kept + failed + sum(dropped.values()), kept=kept, failed=failed, dropped=dropped)

    def _new_rule(self, rule: str) -> int:
        if len(self._rules) == _MAX_RULES:
            raise StoreError(f"{rule!r} is the 65,533rd rule: a rule is a name, what varies belongs to its detail")
        self._rules.append(rule)
        self._tally.append(0)
        code = self._code_of_rule[rule] = len(self._rules) + _FIRST_RULE - 1
        return code

    def _grow(self, ordinal: int) -> None:
        if ordinal > _MAX_ORDINAL:
            raise StoreError(f"an item has the ordinal {ordinal}: at most {_MAX_ORDINAL:,} items fit a stream")
        more = ordinal + 1 - len(self._codes)
        more = max(more, len(self._codes) // 8, _STEP)
        self._codes.frombytes(bytes(more * self._codes.itemsize))
        self._offsets.frombytes(bytes(more * self._offsets.itemsize))
        self._lengths.frombytes(bytes(more * self._lengths.itemsize))
        self._tally[_ABSENT] += more
