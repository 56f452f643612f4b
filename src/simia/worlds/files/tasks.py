"""Kinds of tasks in the shell, each with the calls that do it."""

import json
import posixpath
import random

from simia.worlds.drafting import Draft, TaskKind, pick

_MOST_FILES = 19
_MEANINGS = {
    "400": "I may read it and nobody may write",
    "600": "I may read and write, the others nothing",
    "700": "I may do everything, the others nothing",
    "770": "my group and I may do everything, the others nothing",
}


def correct_a_setting(rng: random.Random, draft: Draft) -> str:
    settings = _path_to(draft, "settings.cfg")
    draft.state["working_directory"] = posixpath.dirname(settings)
    port = rng.randrange(9001, 9900)
    draft.do("grep", text="port = ")
    host = draft.do("cat", path=settings)["content"].split("\n")[0]
    draft.do("write", path=settings, content=f"{host}\nport = {port}")
    return rng.choice(
        (
            f"The server listens on another port now. Correct {settings}: the port is {port}, the rest stays.",
            f"Look for the line with 'port = ' and make it {port} in {settings}; do not touch the host.",
        )
    )


def note_something_down(rng: random.Random, draft: Draft) -> str:
    path = pick(rng, draft.state["files"], where=lambda row: row["owner"] == draft.state["user"])
    line = rng.choice(("collect the parcel on Friday", "water the plants", "send Tariq the figures"))
    draft.do("ls", path=posixpath.dirname(path))
    draft.do("write", path=path, content=line, how="append")
    return rng.choice((f"Add the line '{line}' at the end of {path}.", f"{path} lacks a last line: '{line}'. Add it."))


def clear_the_logs(rng: random.Random, draft: Draft) -> str:
    logs = _path_to(draft, "logs")
    ending = rng.choice((".log", ".log.old"))
    _arrange_files(rng, draft, logs, ending, most=3)
    draft.do("ls", path=logs)
    removed = draft.do("rm", pattern=f"{logs}/*{ending}")["removed"]
    draft.do("disk_usage")
    gone = f"starts_with(@, '{logs}/') && ends_with(@, '{ending}')"
    draft.demand("no such file is left", f"length(keys(files)[?{gone}]) == `0`")
    draft.demand("no other file is gone", f"length(keys(files)) == `{len(draft.state['files'])}`")
    in_trash = f"values(trash)[?contains(`{json.dumps(sorted(removed))}`, path)]"
    draft.demand("they are in the trash", f"length({in_trash}) == `{len(removed)}`")
    return rng.choice(
        (
            f"Throw away every file in {logs} that ends in {ending}, and tell me how full the disk is then.",
            f"I need order: put all *{ending} of {logs} into the trash. How many files may I still make?",
        )
    )


def undo_a_removal(rng: random.Random, draft: Draft) -> str:
    _arrange_trash(rng, draft)
    draft.do("disk_usage")
    draft.do("restore_trash")
    return rng.choice(
        (
            "I emptied a folder by mistake. How much is in the trash? Put all of it back where it was.",
            "Please bring back everything that lies in my trash.",
        )
    )


def begin_a_project(rng: random.Random, draft: Draft) -> str:
    home = f"/home/{draft.state['user']}"
    steps = rng.sample(("trips", "lisbon", "spring", "photos", "letters"), rng.randrange(1, 5))
    folder = "/".join((home, *steps))
    title = rng.choice(("Packing list", "First ideas", "Who comes along"))
    draft.do("pwd")
    draft.do("mkdir", path=folder)
    draft.do("cd", path=folder)
    draft.do("write", path="readme.md", content=f"# {title}")
    return rng.choice(
        (
            f"Make the directory {folder}, go there, and begin a readme.md in it whose only line is '# {title}'.",
            f"I need {folder} with a readme.md that says '# {title}', and I want to work there from now on.",
        )
    )


def move_a_directory(rng: random.Random, draft: Draft) -> str:
    source = _path_to(draft, rng.choice(("notes", "logs")))
    _arrange_files(rng, draft, source, ".txt", most=2)
    name = rng.choice(("archive", "kept", "until-spring"))
    target = f"/home/{draft.state['user']}/{name}"
    draft.do("ls", path=source)
    draft.do("mv", source=source, target=target)
    return rng.choice(
        (
            f"{source} shall be called {target} from now on, with everything that is in it.",
            f"Move the directory {source} with its files; its new path is {target}.",
        )
    )


def copy_for_the_others(rng: random.Random, draft: Draft) -> str:
    source = _path_to(draft, "notes")
    _arrange_files(rng, draft, source, ".txt", most=7)
    pattern = rng.choice(("*.txt", "*.txt", "part-*"))
    draft.do("ls", path="/shared")
    draft.do("cp", pattern=f"{source}/{pattern}", target="/shared")
    return rng.choice(
        (
            f"The others need my files {source}/{pattern} as well: copy them into /shared, mine stay.",
            f"See what is in /shared, then copy {pattern} from {source} into it.",
        )
    )


def rename_a_series(rng: random.Random, draft: Draft) -> str:
    folder = _path_to(draft, rng.choice(("notes", "logs")))
    ending = rng.choice((".txt", ".log"))
    _arrange_files(rng, draft, folder, ending, most=3)
    new = rng.choice((".md", ".old", "-2025.txt"))
    draft.do("cd", path=folder)
    draft.do("ls", path=".")
    draft.do("rename_many", path=folder, find=ending, replacement=new)
    return rng.choice(
        (
            f"Go to {folder}, show me the files, and give those with {ending} in their name {new} in its place.",
            f"Change into {folder} and list it. Then {ending} in the file names there becomes {new}, in all of them.",
        )
    )


def protect_what_is_mine(rng: random.Random, draft: Draft) -> str:
    mode, meaning = rng.choice(sorted(_MEANINGS.items()))
    if rng.random() < 0.3:
        settings = _path_to(draft, "settings.cfg")
        draft.do("pwd")
        draft.do("chmod_tree", path=settings, mode=mode)
        return f"Nobody else needs {settings}: give it the mode {mode}, so that {meaning}."
    folder = _path_to(draft, rng.choice(("notes", "logs")))
    _arrange_files(rng, draft, folder, ".txt", most=6)
    draft.do("pwd")
    draft.do("ls", path=folder)
    draft.do("chmod_tree", path=folder, mode=mode)
    return f"Set the mode {mode} for {folder} and all that is in it: {meaning}."


KINDS: tuple[TaskKind, ...] = (
    correct_a_setting,
    note_something_down,
    clear_the_logs,
    undo_a_removal,
    begin_a_project,
    move_a_directory,
    copy_for_the_others,
    rename_a_series,
    protect_what_is_mine,
)


def _path_to(draft: Draft, name: str) -> str:
    """The directory or file of the user that has this name."""
    paths: tuple[str, ...] = (*draft.state["directories"], *draft.state["files"])
    return next(path for path in paths if posixpath.basename(path) == name)


def _arrange_files(rng: random.Random, draft: Draft, folder: str, ending: str, *, most: int) -> None:
    """Some more files of the user in ``folder``, before the task begins."""
    files = draft.state["files"]
    for number in rng.sample(range(100, 999), min(rng.randrange(most + 1), _MOST_FILES - len(files))):
        files[f"{folder}/part-{number}{ending}"] = _plain_file(draft, rng.choice(("ready", "to check", "empty")))


def _arrange_trash(rng: random.Random, draft: Draft) -> None:
    """Some more files of the user in the trash, before the task begins."""
    folder = _path_to(draft, rng.choice(("notes", "logs")))
    for number in rng.sample(range(10, 20), rng.randrange(1, 6)):
        path = f"{folder}/page-{number}.txt"
        draft.state["trash"][f"T-{number}"] = {"path": path, **_plain_file(draft, f"page {number}")}


def _plain_file(draft: Draft, content: str) -> dict[str, str]:
    return {"owner": draft.state["user"], "mode": "644", "modified": "2025-01-15", "content": content}
