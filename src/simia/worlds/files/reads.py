"""The tools that look and change nothing."""

import posixpath
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.files.paths import absolute, demand, directory, may, within
from simia.worlds.files.state import File, FilesState, Mode

Path = Annotated[str, Field(min_length=1, max_length=120, description="Absolute, or from the working directory.")]


class Place(TypedDict):
    user: str
    working_directory: str


class Entry(TypedDict):
    name: str
    kind: Literal["directory", "file"]
    owner: str
    mode: Mode


class FileDetails(File):
    path: str


class Line(TypedDict):
    path: str
    number: int
    line: str


class Usage(TypedDict):
    files_by_directory: dict[str, int]
    in_trash: int
    quota_left: int


def pwd(state: FilesState) -> Place:
    """Who is working, and in which directory."""
    return {"user": state["user"], "working_directory": state["working_directory"]}


def ls(state: FilesState, path: Path) -> list[Entry]:
    """What is in a directory, by name."""
    top = directory(state, path)
    demand(state, "read", top)
    entries: list[Entry] = [
        {
            "name": posixpath.basename(place),
            "kind": "file" if place in state["files"] else "directory",
            "owner": entry["owner"],
            "mode": entry["mode"],
        }
        for place, entry in (*state["directories"].items(), *state["files"].items())
        if posixpath.dirname(place) == top != place
    ]
    return sorted(entries, key=lambda row: row["name"])


def cat(state: FilesState, path: Path) -> FileDetails:
    """Read a file."""
    place = absolute(state, path)
    if place not in state["files"]:
        raise Refused(f"{place}: no such file")
    demand(state, "read", place)
    return {"path": place, **state["files"][place]}


def grep(state: FilesState, text: Annotated[str, Field(min_length=1)]) -> list[Line]:
    """The lines with a text in all readable files at or below the working directory."""
    rows: list[Line] = []
    for path, file in sorted(state["files"].items()):
        if within(path, state["working_directory"]) and may(state, "read", path):
            lines = file["content"].split("\n")
            rows += [
                {"path": path, "number": number, "line": line} for number, line in enumerate(lines, 1) if text in line
            ]
    return rows


def disk_usage(state: FilesState) -> Usage:
    """How many files each directory holds itself, how many are in the trash, and how many more there may be."""
    counts: dict[str, int] = {}
    for path in sorted(state["files"]):
        folder = posixpath.dirname(path)
        counts[folder] = counts.get(folder, 0) + 1
    left = state["file_quota"] - len(state["files"]) - len(state["trash"])
    return {"files_by_directory": counts, "in_trash": len(state["trash"]), "quota_left": left}
