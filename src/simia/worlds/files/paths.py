"""Where a path leads, and who may do what there."""

import posixpath
from fnmatch import fnmatchcase

from simia.worlds.executable import Refused
from simia.worlds.files.state import FilesState

RIGHTS = {"read": 4, "write": 2}


def absolute(state: FilesState, path: str) -> str:
    """``path`` from the root, without '.' and '..'."""
    return "/" + posixpath.normpath(posixpath.join(state["working_directory"], path)).lstrip("/")


def within(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def tree(state: FilesState, top: str) -> list[str]:
    """``top`` and all that is below it."""
    paths = sorted(path for path in (*state["directories"], *state["files"]) if within(path, top))
    if not paths:
        raise Refused(f"{top}: no such file or directory")
    return paths


def matching(state: FilesState, pattern: str) -> list[str]:
    """The files that a pattern means; its last part may have '*' and '?'."""
    folder, name = posixpath.split(absolute(state, pattern))
    names = {path: posixpath.basename(path) for path in sorted(state["files"]) if posixpath.dirname(path) == folder}
    paths = [path for path in names if fnmatchcase(names[path], name)]
    if not paths:
        raise Refused(f"no file matches {pattern!r}")
    return paths


def may(state: FilesState, right: str, path: str) -> bool:
    """Whether the user has the right, 'read' or 'write', on what is at ``path``."""
    entry = state["files"].get(path) or state["directories"][path]
    digit = entry["mode"][0 if entry["owner"] == state["user"] else 2]
    return int(digit) & RIGHTS[right] != 0


def demand(state: FilesState, right: str, path: str) -> None:
    if not may(state, right, path):
        raise Refused(f"{state['user']} may not {right} {path}")


def demand_new(state: FilesState, path: str) -> None:
    """Refuse unless something can be made at ``path``."""
    if path in state["files"] or path in state["directories"]:
        raise Refused(f"{path} exists")
    folder = posixpath.dirname(path)
    if folder not in state["directories"]:
        raise Refused(f"{folder}: no such directory")
    demand(state, "write", folder)


def demand_quota(state: FilesState) -> None:
    count = len(state["files"]) + len(state["trash"])
    if count > state["file_quota"]:
        raise Refused(f"{count} files are more than the quota of {state['file_quota']}")


def directory(state: FilesState, path: str) -> str:
    """The absolute path of a directory that is there."""
    place = absolute(state, path)
    if place not in state["directories"]:
        raise Refused(f"{place}: no such directory")
    return place
