"""``simia models``: which language model would be taken, and whether it answers."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_json, result_table, say

if TYPE_CHECKING:
    from simia.models.choose import ChosenModel
    from simia.types import ChatReply

app = typer.Typer(
    no_args_is_help=True,
    help="Look at language models: [cyan]ls[/cyan], [cyan]check[/cyan], [cyan]pull[/cyan], [cyan]mock[/cyan].",
)

BaseUrlOption = Annotated[
    str | None, typer.Option(help="The endpoint, instead of OPENAI_BASE_URL.", show_default=False)
]
KeyOption = Annotated[str, typer.Option(help="The environment variable that holds the key.")]
_PROMPT = "Answer with the one word: ready"
_MOST_NAMES = 6


@app.command("ls", epilog=examples("simia models ls"))
def list_models(
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every name.")] = False,
) -> None:
    """List the models at the endpoint, at Ollama and on this machine."""
    from simia.models.available import available
    from simia.models.settings import ModelSettings

    offers = available(ModelSettings(base_url=base_url, api_key_env=api_key_env), os.environ)
    if as_json:
        result_json(
            {offer.place: {"address": offer.address, "models": offer.models, "note": offer.note} for offer in offers}
        )
        return
    rows = []
    for offer in offers:
        names = ", ".join(offer.models[:_MOST_NAMES])
        if len(offer.models) > _MOST_NAMES:
            names += f" and {len(offer.models) - _MOST_NAMES} more"
        rows.append(
            (offer.place, offer.address, f"{names} ({offer.note})" if names and offer.note else names or offer.note)
        )
    result_table(("place", "address", "models"), rows)


@app.command(epilog=examples("simia models check", "simia models check embedded", "simia models check gguf:model.gguf"))
def check(
    model: Annotated[
        str | None,
        typer.Argument(help="As for --model of synth: a name, embedded, or gguf:PATH.", show_default=False),
    ] = None,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
) -> None:
    """Say which model would be taken and why, and ask it one small question."""
    import asyncio

    from simia.models.choose import choose_model
    from simia.models.settings import ModelSettings

    settings = ModelSettings(base_url=base_url, api_key_env=api_key_env, timeout_s=120)
    chosen = choose_model(model, settings=settings, env=os.environ)
    say(f"model: {chosen.name} ({chosen.reason})")
    reply, took_s = asyncio.run(_ask(chosen))
    tokens = f"{reply.usage.prompt_tokens} tokens in, {reply.usage.completion_tokens} out"
    result(f"{chosen.name} answered in {took_s:.2f} s ({tokens}): {reply.text.strip()[:60]!r}")


@app.command(
    epilog=examples("simia models pull", "simia models pull Qwen/Qwen3-1.7B-GGUF:Qwen3-1.7B-Q8_0.gguf --to models")
)
def pull(
    name: Annotated[
        str | None,
        typer.Argument(help="OWNER/REPO:FILE.gguf of the Hugging Face hub; without it the embedded model."),
    ] = None,
    to: Annotated[Path, typer.Option(metavar="DIR", help="Where a file of the hub goes.")] = Path("models"),
) -> None:
    """Fetch a model now, so that a later run needs no network for it. Prints the path of its file."""
    if name is None:
        from simia.models.embedded.fetch import embedded_gguf

        result(str(embedded_gguf(say=say)))
        return
    import asyncio

    from simia.models.embedded.pull import pull as pull_from_hub

    path = asyncio.run(pull_from_hub(name, to, progress=_SaysPercent(), say=say))
    result(f"{path}")
    say(f"use it with --model gguf:{path}")


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def mock(ctx: typer.Context) -> None:
    """Serve an OpenAI-compatible mock endpoint on loopback, to rehearse a run (--help says how)."""
    from simia.models import mock_server

    raise typer.Exit(mock_server.main(ctx.args, prog="simia models mock"))


class _SaysPercent:
    """One line for every tenth of a transfer."""

    def __init__(self) -> None:
        self._tenths = 0

    def __call__(self, done: int, whole: int | None) -> None:
        tenths = done * 10 // whole if whole else 0
        if tenths > self._tenths:
            self._tenths = tenths
            say(f"{tenths * 10} % of {(whole or 0) / 1e6:,.0f} MB")


async def _ask(chosen: "ChosenModel") -> tuple["ChatReply", float]:
    from simia.types import ChatRequest, Sampling, UserMessage

    async with chosen.open() as model:
        request = ChatRequest(
            model=model.name,
            messages=(UserMessage(content=_PROMPT),),
            sampling=Sampling(temperature=0.0, max_tokens=16),
        )
        started = time.monotonic()
        return await model.complete(request), time.monotonic() - started
