"""The tools of the shell, as code: those that change something, and the list of all."""

import posixpath
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.files.paths import absolute, demand, demand_new, demand_quota, directory, matching, tree, within
from simia.worlds.files.reads import FileDetails, Path, Place, cat, disk_usage, grep, ls, pwd
from simia.worlds.files.state import FilesState, Mode

Pattern = Annotated[str, Field(min_length=1, max_length=120, description="A path; the name may have * and ?.")]

Content = Annotated[str, Field(max_length=400, description="Lines, without a line end after the last.")]
How = Annotated[Literal["replace", "append"], Field(description="What becomes of the lines that the file has.")]
NamePart = Annotated[str, Field(min_length=1, max_length=40, description="Part of a file name.")]
NewPart = Annotated[str, Field(max_length=40, description="What stands there instead.")]


class Made(TypedDict):
    made: list[str]


class Moved(TypedDict):
    moved: dict[str, str]


class Trashed(TypedDict):
    removed: dict[str, str]


class Restored(TypedDict):
    restored: list[str]
    left_in_trash: list[str]


class NewMode(TypedDict):
    changed: list[str]
    mode: Mode


def cd(state: FilesState, path: Path) -> Place:
    """Go to another directory."""
    place = directory(state, path)
    demand(state, "read", place)
    state["working_directory"] = place
    return {"user": state["user"], "working_directory": state["working_directory"]}


def write(state: FilesState, path: Path, content: Content, how: How = "replace") -> FileDetails:
    """Write a file, or add lines at its end; it is made, with the mode 644, if it is not there."""
    place = absolute(state, path)
    if place in state["directories"]:
        raise Refused(f"{place} is a directory")
    if place in state["files"]:
        demand(state, "write", place)
        file = state["files"][place]
        file["content"] = f"{file['content']}\n{content}" if how == "append" else content
        file["modified"] = state["today"]
    else:
        demand_new(state, place)
        file = {"owner": state["user"], "mode": "644", "modified": state["today"], "content": content}
        state["files"][place] = file
        demand_quota(state)
    return {"path": place, **file}


def mkdir(state: FilesState, path: Path) -> Made:
    """Make a directory, and those above it that are missing."""
    place = absolute(state, path)
    missing: list[str] = []
    while place not in state["directories"]:
        missing.insert(0, place)
        place = posixpath.dirname(place)
    if not missing or missing[0] in state["files"]:
        raise Refused(f"{missing[0] if missing else place} exists")
    demand(state, "write", place)
    for path in missing:
        state["directories"][path] = {"owner": state["user"], "mode": "755"}
    return {"made": missing}


def cp(state: FilesState, pattern: Pattern, target: Path) -> Made:
    """Copy every file that matches into a directory. The copies belong to the user and keep their modes."""
    folder = absolute(state, target)
    made = []
    for path in matching(state, pattern):
        demand(state, "read", path)
        copy = posixpath.join(folder, posixpath.basename(path))
        demand_new(state, copy)
        state["files"][copy] = {**state["files"][path], "owner": state["user"], "modified": state["today"]}
        made.append(copy)
    demand_quota(state)
    return {"made": made}


def mv(state: FilesState, source: Path, target: Path) -> Moved:
    """Move a file, or a directory with all that is in it, into a directory or to a new path."""
    old = absolute(state, source)
    new = absolute(state, target)
    paths = tree(state, old)
    if new in state["directories"]:
        new = posixpath.join(new, posixpath.basename(old))
    if within(new, old) or within(state["working_directory"], old):
        raise Refused(f"{old} cannot be moved to {new} from {state['working_directory']}")
    demand(state, "write", posixpath.dirname(old))
    demand_new(state, new)
    moved = {path: new + path.removeprefix(old) for path in paths}
    for path, place in moved.items():
        table: dict[str, Any] = state["files"] if path in state["files"] else state["directories"]
        table[place] = table.pop(path)
    return {"moved": moved}


def rename_many(state: FilesState, path: Path, find: NamePart, replacement: NewPart) -> Moved:
    """Replace a part of the name of every file in a directory that has it."""
    folder = directory(state, path)
    moved: dict[str, str] = {}
    for place in [place for place in sorted(state["files"]) if posixpath.dirname(place) == folder]:
        name = posixpath.basename(place).replace(find, replacement)
        if name == posixpath.basename(place):
            continue
        if "/" in name or not name.strip("."):
            raise Refused(f"{name!r} is no name for {place}")
        moved[place] = posixpath.join(folder, name)
        demand_new(state, moved[place])
        state["files"][moved[place]] = state["files"].pop(place)
    if not moved:
        raise Refused(f"no file in {folder} has {find!r} in its name")
    return {"moved": moved}


def chmod_tree(state: FilesState, path: Path, mode: Mode) -> NewMode:
    """Set the mode of a file, or of a directory and all that is in it."""
    changed: list[str] = []
    for place in tree(state, absolute(state, path)):
        entry = state["files"].get(place) or state["directories"][place]
        if entry["owner"] != state["user"]:
            raise Refused(f"{place} belongs to {entry['owner']}, not to {state['user']}")
        if entry["mode"] != mode:
            entry["mode"] = mode
            changed.append(place)
    return {"changed": changed, "mode": mode}


def rm(state: FilesState, pattern: Pattern) -> Trashed:
    """Put every file that matches into the trash."""
    removed: dict[str, str] = {}
    for path in matching(state, pattern):
        demand(state, "write", posixpath.dirname(path))
        demand(state, "write", path)
        trash_id = f"T-{state['next_number']}"
        state["next_number"] += 1
        state["trash"][trash_id] = {"path": path, **state["files"].pop(path)}
        removed[path] = trash_id
    return {"removed": removed}


def restore_trash(state: FilesState) -> Restored:
    """Put everything from the trash back, except where the place is taken or the directory gone."""
    restored: list[str] = []
    left: list[str] = []
    for trash_id, row in sorted(state["trash"].items()):
        path = row["path"]
        taken = path in state["files"] or path in state["directories"]
        if taken or posixpath.dirname(path) not in state["directories"]:
            left.append(trash_id)
            continue
        state["files"][path] = {
            "owner": row["owner"],
            "mode": row["mode"],
            "modified": row["modified"],
            "content": row["content"],
        }
        del state["trash"][trash_id]
        restored.append(path)
    if not restored:
        raise Refused("nothing in the trash can be put back")
    return {"restored": restored, "left_in_trash": left}


TOOLS: tuple[Action, ...] = (
    pwd,
    cd,
    ls,
    cat,
    grep,
    disk_usage,
    write,
    mkdir,
    cp,
    mv,
    rename_many,
    chmod_tree,
    rm,
    restore_trash,
)
