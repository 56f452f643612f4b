"""A wall of lockers for parcels."""

from typing import Any, TypedDict

INITIAL_STATES = [
    {"lockers": {"A1": {"size": "small", "parcel": None}, "A2": {"size": "large", "parcel": "P-7"}}, "opened": []},
    {"lockers": {"B1": {"size": "large", "parcel": None}}, "opened": ["P-3"]},
]


class Locker(TypedDict):
    """One door."""

    size: str
    parcel: str | None


class ParcelLocker:
    """A courier lays parcels into lockers, and whom they are for takes them out.

    A small parcel may lie in a large locker, and not the other way round.
    """

    def __init__(self) -> None:
        self.lockers: dict[str, Locker] = {}
        self.opened: list[str] = []

    def lay_in(self, parcel: str, size: str = "small") -> dict[str, Any]:
        """Lay a parcel into the first locker that is free and large enough.

        :param parcel: its number, such as P-1
        :param size: small or large
        """
        for locker_id in sorted(self.lockers):
            locker = self.lockers[locker_id]
            if locker["parcel"] is None and (size == "small" or locker["size"] == "large"):
                locker["parcel"] = parcel
                return {"success": True, "data": {"locker": locker_id}}
        return {"success": False, "error": "no locker is free"}

    def take_out(self, parcel: str) -> dict[str, Any]:
        """Open the locker with a parcel."""
        for locker_id, locker in self.lockers.items():
            if locker["parcel"] == parcel:
                locker["parcel"] = None
                self.opened.append(parcel)
                return {"success": True, "message": f"locker {locker_id} is open"}
        return {"success": False, "error": f"no parcel {parcel}"}
