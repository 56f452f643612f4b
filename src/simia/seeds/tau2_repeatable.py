"""What tau2 leaves to chance, or shares between its environments, so that a call depends on nothing but the state."""

import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


def with_own_vpn(env: Any) -> Any:
    """``env`` with a VPN of its own to connect to: breaking a connected one breaks the one that all share."""
    shared = getattr(type(env.user_tools), "default_vpn_details", None)
    if shared is not None:
        env.user_tools.default_vpn_details = shared.model_copy(deep=True)
    return env


@contextmanager
def counted_bills(env: Any) -> Iterator[None]:
    """Inside the block a new bill has the first of the ids ``B00000000``, ``B00000001`` and so on that none has."""

    def uuid4() -> SimpleNamespace:
        taken = {bill.bill_id for bill in env.tools.db.bills}
        digits = map("{:08x}".format, itertools.count())
        return SimpleNamespace(hex=next(text for text in digits if f"B{text}" not in taken))

    module: Any = sys.modules[type(env.tools).__module__]
    before = getattr(module, "uuid", None)
    if before is None:
        yield
        return
    module.uuid = SimpleNamespace(uuid4=uuid4)
    try:
        yield
    finally:
        module.uuid = before
