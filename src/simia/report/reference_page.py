"""The reference of the settings as a page of Markdown.

``python -m simia.report.reference_page > docs/settings.md`` writes it anew.
"""

from textwrap import fill

from simia.report.reference import sections

HEAD = """<!-- Written by: python -m simia.report.reference_page > docs/settings.md
     To change it, change the docstrings of the settings and write it anew. -->

# Settings

Every key that a recipe may hold, under `bench` those of `simia bench run`, under `calibrate` those of `simia reward
calibrate`, and under `grpo` those of `simia train grpo`, whose tables follow it. In a recipe's TOML file, what stands
before the last dot is the table; on the command line any key can be set, and what is no plain word or number is written
as in TOML:

```
simia synth shop count=50 simulate.mode=turns 'export.formats=["trl", "openai"]' --run runs/turns
simia bench run --model gpt-4.1-mini setting=tracked temperature=0.7 --run runs/mini
```

The default `none` means that nothing is set. `simia settings` prints all this, `simia settings SECTION` a part of it.
"""


def markdown() -> str:
    """All of it as one page."""
    parts = [HEAD]
    for section in sections():
        rows = [("key", "values", "default"), ("---",) * 3, *((f"`{row.key}`", *row[1:]) for row in section.settings)]
        parts += [f"## {section.name}\n", *(f"{_wrapped(paragraph)}\n" for paragraph in section.prose)]
        parts.append("".join(f"| {' | '.join(row)} |\n" for row in rows))
        for title, items in section.lists:
            parts += [f"{title}:\n", "".join(f"{_wrapped(f'- {item}')}\n" for item in items)]
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    hanging = "  " if text.startswith("- ") else ""
    return fill(text, 120, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    print(markdown(), end="")
