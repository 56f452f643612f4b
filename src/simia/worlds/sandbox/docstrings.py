"""The docstring of a method, told apart: what the tool does, and what each argument is."""

import re
from collections.abc import Collection

_HEADER = re.compile(r"^(\s*)(?:args|arguments|params|parameters|inputs?)\s*:\s*$", re.IGNORECASE)
_ENTRY = re.compile(
    r"^\s*(?:[-*]\s+)?`{0,2}\*{0,2}(\w+)`{0,2}\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*(?::|-|–)\s*(.*)$"
)
_FIELD = re.compile(r"^\s*:param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
# The text is strange, too, and some of these take time by the square of a line.
_LONGEST_LINE = 1000
_LONGEST_TEXT = 100_000
_BLANKS = re.compile(r"\n{3,}")


def split(text: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """The description without its section of arguments, and what that says about each of ``names``.

    A section that speaks of anything else stays where it is.
    """
    text = text[:_LONGEST_TEXT]
    if any(len(line) > _LONGEST_LINE for line in text.splitlines()):
        return text.strip(), {}
    rest: list[str] = []
    found: dict[str, str] = {}
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        header = _HEADER.match(line)
        field = _FIELD.match(line)
        if header:
            section = _below(lines, len(header[1]))
            entries = _entries(section, names)
            if entries is None:
                rest += [line, *section]
            else:
                found |= entries
            del lines[: len(section)]
        elif field and field[1] in names:
            found[field[1]] = field[2].strip()
        else:
            rest.append(line)
    return _BLANKS.sub("\n\n", "\n".join(rest)).strip(), found


def _below(lines: list[str], indent: int) -> list[str]:
    """The lines that stand deeper than ``indent``."""
    found: list[str] = []
    for line in lines:
        if line.strip() and _indent(line) <= indent:
            break
        found.append(line)
    return found


def _entries(section: list[str], names: Collection[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    name, level = "", None
    for line in filter(str.strip, section):
        level = _indent(line) if level is None else level
        if _indent(line) > level and name:
            found[name] = f"{found[name]} {line.strip()}".strip()
            continue
        entry = _ENTRY.match(line)
        if entry is None or entry[1] not in names:
            return None
        name = entry[1]
        found[name] = entry[2].strip()
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
