"""What the machine keeps: directories and files by absolute path, a trash, and who is working where."""

import random
from datetime import date, timedelta
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Mode = Annotated[str, Field(pattern="^[0-7]{3}$")]


class Directory(TypedDict):
    owner: str
    mode: Mode


class File(TypedDict):
    owner: str
    mode: Mode
    modified: Day
    content: str


class Removed(File):
    path: str


class FilesState(TypedDict):
    """The whole state."""

    today: Day
    user: str
    users: list[str]
    working_directory: str
    file_quota: int
    next_number: int
    directories: dict[str, Directory]
    files: dict[str, File]
    trash: dict[str, Removed]


INVARIANTS = (
    Invariant(name="the working directory exists", expression="working_directory", refers_to="keys(directories)"),
    Invariant(
        name="everything is owned by a user",
        expression="[user, values(directories)[].owner, values(files)[].owner, values(trash)[].owner][]",
        refers_to="users",
    ),
    Invariant(
        name="nothing is a file and a directory",
        expression="length(keys(merge(directories, files))) == sum([length(keys(directories)), length(keys(files))])",
    ),
    Invariant(
        name="files and trash stay within the quota",
        expression="sum([length(keys(files)), length(keys(trash))]) <= file_quota",
    ),
)

_USERS = ("mira", "tomas", "yuki", "amara", "leon", "sana")
_PROJECTS = ("garden", "atlas", "survey", "recipes")
_HOSTS = ("alder", "birch", "cedar", "hazel")
_LINES = (
    "call Ines about the keys",
    "budget still open",
    "measure the east wall",
    "ask Rafael for photos",
    "print the map",
    "buy rope and tape",
    "draft sent to Oluchi",
)
_EVENTS = ("started", "backup ok", "backup failed", "disk full", "user logged in", "timeout on port 8080", "stopped")


def draw_state(rng: random.Random) -> State:
    """Three users; the home of one has a project with notes, and logs."""
    user, friend, stranger = rng.sample(_USERS, 3)
    home = f"/home/{user}"
    project = f"{home}/{rng.choice(_PROJECTS)}"
    today = date(2025, 2, 1) + timedelta(days=rng.randrange(300))
    directories: dict[str, Directory] = {
        "/": {"owner": "root", "mode": "755"},
        "/home": {"owner": "root", "mode": "755"},
        home: {"owner": user, "mode": "755"},
        project: {"owner": user, "mode": rng.choice(("755", "775"))},
        f"{project}/notes": {"owner": user, "mode": "755"},
        f"{home}/logs": {"owner": user, "mode": "755"},
        f"/home/{stranger}": {"owner": stranger, "mode": "700"},
        "/shared": {"owner": friend, "mode": "777"},
    }
    contents = {
        f"{home}/todo.txt": note(rng),
        f"{project}/settings.cfg": f"host = {rng.choice(_HOSTS)}\nport = {rng.randrange(8000, 9000)}",
        f"{project}/plan.txt": note(rng),
        **{f"{project}/notes/{day}.txt": note(rng) for day in rng.sample(("mon", "tue", "wed", "thu"), 2)},
        **{f"{home}/logs/run-{number}.log": log(rng) for number in rng.sample(range(10, 60), rng.randrange(1, 4))},
        "/shared/board.txt": note(rng),
    }
    files = {path: file(rng, user, today, content) for path, content in contents.items()}
    files["/shared/board.txt"]["mode"] = "666"
    files["/shared/prices.txt"] = file(rng, friend, today, f"rope {rng.randrange(5, 40)}\ntape {rng.randrange(2, 9)}")
    removed = file(rng, user, today, note(rng))
    number = rng.randrange(20, 90)
    return {
        "today": today.isoformat(),
        "user": user,
        "users": ["root", *sorted((user, friend, stranger))],
        "working_directory": rng.choice((home, home, project)),
        "file_quota": rng.randrange(24, 31),
        "next_number": number + 1,
        "directories": directories,
        "files": files,
        "trash": {f"T-{number}": {"path": f"{home}/old-todo.txt", **removed}} if rng.random() < 0.5 else {},
    }


def file(rng: random.Random, owner: str, today: date, content: str) -> File:
    """A file that was last written in the past weeks."""
    day = today - timedelta(days=rng.randrange(1, 30))
    mode = rng.choice(("644", "644", "600", "664"))
    return {"owner": owner, "mode": mode, "modified": day.isoformat(), "content": content}


def note(rng: random.Random) -> str:
    """One or two lines of a note."""
    return "\n".join(rng.sample(_LINES, rng.randrange(1, 3)))


def log(rng: random.Random) -> str:
    """Two lines of a log."""
    hours = sorted(rng.sample(range(10, 24), 2))
    return "\n".join(f"{hour}:{rng.randrange(10, 60)} {rng.choice(_EVENTS)}" for hour in hours)
