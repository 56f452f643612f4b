"""Lines typed at a prompt, with history and completion where Python has readline."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from simia.cli.console import result


def typed_lines(prompt: str, completions: Callable[[str, str], list[str]], word_ends: str) -> Iterator[str]:
    """What a person types, until Ctrl-D. As in a shell, Ctrl-C gives up the line; a second one on the next line leaves.

    Args:
        completions: what a word, after the beginning of its line, may become.
        word_ends: the signs between which a word stands.

    Raises:
        KeyboardInterrupt: Ctrl-C twice, or once where nobody types.
    """
    was_given_up = not sys.stdin.isatty()
    with _completing(completions, word_ends):
        while True:
            try:
                line = input(prompt)
            except EOFError:
                result()
                return
            except KeyboardInterrupt:
                result()
                if was_given_up:
                    raise
                was_given_up = True
                result("Ctrl-C once more leaves, as Ctrl-D and quit do")
                continue
            was_given_up = not sys.stdin.isatty()
            yield line


@contextlib.contextmanager
def _completing(completions: Callable[[str, str], list[str]], word_ends: str) -> Iterator[None]:
    try:
        import readline
    except ImportError:  # Windows, and some builds
        yield
        return
    fitting: list[str] = []

    def complete(word: str, number: int) -> str | None:
        if number == 0:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            fitting[:] = completions(before, word)
        return fitting[number] if number < len(fitting) else None

    before: tuple[Any, str] = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims(word_ends)
    is_libedit = "libedit" in (readline.__doc__ or "")  # macOS
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])
