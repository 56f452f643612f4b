"""Which model a run talks to, why, and whether it is there. Asked before anything else is started."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from simia.errors import ConfigError, ModelNotFound
from simia.models.address import Address, usable_key
from simia.models.cassette import Label, RecordingModel, ReplayingModel
from simia.models.embedded.fetch import say_to_stderr
from simia.models.endpoint import EndpointModel
from simia.models.listing import models_at, ollama_address, ollama_models
from simia.models.refusals import Asked
from simia.models.settings import ModelSettings
from simia.types import ChatModel

EMBEDDED_NAME = "SmolLM2-135M-Instruct"
_OPENAI = "https://api.openai.com/v1"
_OLLAMA_CUTS = "it cuts long prompts without a word unless started with OLLAMA_CONTEXT_LENGTH=16384 or more"
_CORES_PER_SLOT = 4  # more slots answer more slowly each; below it they only share the cores
_LEAST_SLOTS = 2
_LOCAL_CONTEXT = 8192
_SMALL_BYTES = 3_000_000_000  # about three billion weights of four bits and a half


@dataclass(frozen=True)
class ChosenModel:
    """A model that was chosen, not yet opened.

    ``reason`` is a sentence for the user. ``settings`` are those that the choice settled: name, base URL, and no more
    requests in flight than a model on this machine can take. ``is_local`` models cost nothing; ``is_small`` ones have a
    few billion weights at most. ``open()`` gives the bare model; ``stack.build_stack`` puts the wrappers around it.
    Where ``settings.record`` names a file, what that model is asked and answers goes on that cassette.
    """

    name: str
    reason: str
    settings: ModelSettings
    is_local: bool
    _opener: Callable[[], AbstractAsyncContextManager[ChatModel]] = field(repr=False)
    is_small: bool = False

    def open(self) -> AbstractAsyncContextManager[ChatModel]:
        """The model, ready to be asked, for the length of an ``async with`` block."""
        record = self.settings.record
        return self._opener() if record is None else _recorded(self._opener, record.expanduser(), self.is_small)


def choose_model(spec: str | None, *, settings: ModelSettings, env: Mapping[str, str]) -> ChosenModel:
    """The model that ``spec`` means, checked as far as the server lets itself be checked.

    ``embedded``: SmolLM2-135M-Instruct on this machine. ``gguf:PATH``: any GGUF file, on this machine.
    ``cassette:FILE``: what ``settings.record`` wrote, without any model. Any other word: a model of that name at
    ``settings.base_url``, else at ``OPENAI_BASE_URL``, else, with a key, at OpenAI, else at a running Ollama. None
    takes ``settings.name``; without that one, the first of: an endpoint that the settings or the environment name, a
    running Ollama, the embedded model. Blocks for the length of two small requests at most.

    Raises:
        ConfigError: nothing can be meant by ``spec``, its file cannot be read, or the endpoint serves several models
            and none was named.
        ServerFailed: nothing answers at the address.
        AuthenticationFailed: the endpoint refuses the key.
        ModelNotFound: Ollama does not have the model. Of other endpoints only the first answer tells.
    """
    name = spec or settings.name
    if name == "embedded":
        return _embedded(settings, "the embedded model was asked for")
    if name is not None and name.startswith("gguf:"):
        return _gguf(Path(name.removeprefix("gguf:")).expanduser(), settings)
    if name is not None and name.startswith("cassette:"):
        return _cassette(Path(name.removeprefix("cassette:")).expanduser(), settings)
    base_url, origin = settings.base_url, "base_url in the settings"
    if not base_url and env.get("OPENAI_BASE_URL"):
        base_url, origin = env["OPENAI_BASE_URL"], "OPENAI_BASE_URL"
    if not base_url and env.get(settings.api_key_env):
        base_url, origin = _OPENAI, settings.api_key_env
    if base_url:
        return _at_endpoint(name, base_url, origin, settings, env)
    address = Address.of(ollama_address(env))
    models = ollama_models(address)
    if models is None:
        if name is not None:
            raise ConfigError(
                f"no endpoint for the model {name!r}: set OPENAI_BASE_URL or {settings.api_key_env}, start Ollama "
                f"(nothing answers at {address.shown}), or use --model embedded or --model gguf:PATH"
            )
        return _embedded(
            settings,
            f"no OPENAI_BASE_URL, no {settings.api_key_env}, and no Ollama at {address.shown}: the embedded model",
        )
    if name is None and not models:
        return _embedded(settings, f"Ollama at {address.shown} has no model (ollama pull NAME): the embedded model")
    chosen = _of_ollama(name, models, address) if name is not None else models[0]
    newest = "" if name else f", its newest of {len(models)}"
    reason = f"{chosen} of Ollama at {address.shown}{newest}; {_OLLAMA_CUTS}"
    return _opened(chosen, address.shown, reason, settings, key=None, env=env)


def _at_endpoint(
    name: str | None, base_url: str, origin: str, settings: ModelSettings, env: Mapping[str, str]
) -> ChosenModel:
    address = Address.of(base_url, api_version=env.get("OPENAI_API_VERSION"))
    key = usable_key(env.get(settings.api_key_env), settings.api_key_env)
    models = models_at(address, Asked(address.shown, name or "", key, settings.api_key_env))
    if name is None:
        name = env.get("OPENAI_MODEL") or None
    if name is None:
        if models is None:
            raise ConfigError(f"{address.shown} does not list its models: name one with --model")
        if len(models) != 1:
            raise ConfigError(f"{address.shown} serves {len(models)} models: name one with --model ({_some(models)})")
        name = models[0]
    reason = f"{name} at {address.shown}, from {origin}"
    if models is not None and not _is_listed(name, models):
        # A list may lack aliases, deployments and adapters, and some servers answer to any name: the answer decides.
        reason += f"; it does not list this name ({_some(models)})"
    return _opened(name, base_url, reason, settings, key=key, env=env)


def _opened(
    name: str, base_url: str, reason: str, settings: ModelSettings, *, key: str | None, env: Mapping[str, str]
) -> ChosenModel:
    def opener() -> EndpointModel:
        return EndpointModel(
            name,
            base_url,
            key=key,
            key_name=settings.api_key_env,
            timeout_s=settings.timeout_s,
            structured=settings.structured,
            api_version=env.get("OPENAI_API_VERSION"),
            say=say_to_stderr,
        )

    settled = settings.model_copy(update={"name": name, "base_url": base_url})
    return ChosenModel(name, reason, settled, False, opener)


def _embedded(settings: ModelSettings, reason: str) -> ChosenModel:
    settled = _local_settings(settings, "embedded")
    return ChosenModel(
        EMBEDDED_NAME,
        f"{reason} ({EMBEDDED_NAME} on this machine)",
        settled,
        True,
        lambda: _opened_here(None, settled),
        is_small=True,
    )


def _gguf(path: Path, settings: ModelSettings) -> ChosenModel:
    if path.is_dir():
        raise ConfigError(f"{path} is a folder: gguf:PATH needs the .gguf file itself")
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            size = file.seek(0, os.SEEK_END)
    except OSError as cause:
        raise ConfigError(f"cannot read the model {path}: {cause.strerror}: check the path after gguf:") from None
    if magic != b"GGUF":
        raise ConfigError(f"{path} is no GGUF file: convert the model to GGUF first")
    settled = _local_settings(settings, f"gguf:{path}")
    return ChosenModel(
        path.stem,
        f"{path.stem} from {path}, on this machine",
        settled,
        True,
        lambda: _opened_here(path, settled),
        is_small=size < _SMALL_BYTES,
    )


def _cassette(path: Path, settings: ModelSettings) -> ChosenModel:
    label = Label.of(path)
    # Without ``record``: the recipe that was recorded may be replayed as it stands.
    settled = settings.model_copy(update={"name": f"cassette:{path}", "base_url": None, "record": None})
    reason = f"{label.model} as recorded on the cassette {path}: no model is asked"
    return ChosenModel(label.model, reason, settled, True, lambda: _replayed(path), is_small=label.is_small)


@asynccontextmanager
async def _replayed(path: Path) -> AsyncIterator[ChatModel]:
    with ReplayingModel(path) as model:
        yield model


@asynccontextmanager
async def _recorded(
    opener: Callable[[], AbstractAsyncContextManager[ChatModel]], path: Path, is_small: bool
) -> AsyncIterator[ChatModel]:
    async with opener() as model:
        with RecordingModel(model, path, is_small=is_small) as recording:
            yield recording


def _local_settings(settings: ModelSettings, name: str) -> ModelSettings:
    slots = max(_LEAST_SLOTS, (os.cpu_count() or 1) // _CORES_PER_SLOT)
    in_flight = min(settings.max_in_flight, slots)
    return settings.model_copy(update={"name": name, "base_url": None, "max_in_flight": in_flight})


def _opened_here(gguf: Path | None, settings: ModelSettings) -> AbstractAsyncContextManager[ChatModel]:
    from simia.models.embedded.model import open_embedded

    return open_embedded(
        gguf,
        slots=settings.max_in_flight,
        context=settings.context or _LOCAL_CONTEXT,
        timeout_s=settings.timeout_s,
    )


def _is_listed(name: str, models: list[str]) -> bool:
    return bool({name, f"{name}:latest", f"models/{name}"} & set(models))


def _of_ollama(name: str, models: list[str], address: Address) -> str:
    """The name as Ollama completes it. Its list is whole."""
    for full in (name, f"{name}:latest"):
        if full in models:
            return full
    raise ModelNotFound(f"{address.shown} does not serve the model {name!r}: it serves {_some(models)}")


def _some(models: list[str]) -> str:
    shown = ", ".join(models[:8])
    return f"{shown} and {len(models) - 8} more" if len(models) > 8 else shown or "none"
