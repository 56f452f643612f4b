"""Which models could be taken, wherever one may come from: for people, so nothing here raises."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from simia.errors import SimiaError
from simia.models.address import Address, usable_key
from simia.models.choose import EMBEDDED_NAME
from simia.models.embedded.fetch import SMOLLM2, model_cache
from simia.models.listing import models_at, ollama_address, ollama_models
from simia.models.refusals import Asked
from simia.models.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class Offer:
    """One place that models come from. ``note`` says why there are none, or what is to be known."""

    place: str
    address: str
    models: tuple[str, ...]
    note: str = ""


def available(settings: ModelSettings, env: Mapping[str, str]) -> tuple[Offer, ...]:
    """The endpoint of the settings or the environment, Ollama, and the embedded model, in the order of preference."""
    return (_endpoint(settings, env), _ollama(env), _embedded(env))


def _endpoint(settings: ModelSettings, env: Mapping[str, str]) -> Offer:
    base_url = settings.base_url or env.get("OPENAI_BASE_URL")
    if not base_url:
        return Offer("endpoint", "-", (), "OPENAI_BASE_URL is not set")
    try:
        address = Address.of(base_url, api_version=env.get("OPENAI_API_VERSION"))
        key = usable_key(env.get(settings.api_key_env), settings.api_key_env)
        models = models_at(address, Asked(address.shown, "", key, settings.api_key_env))
    except SimiaError as error:
        return Offer("endpoint", "-", (), str(error))
    return Offer("endpoint", address.shown, tuple(models or ()), "" if models else "does not list its models")


def _ollama(env: Mapping[str, str]) -> Offer:
    try:
        address = Address.of(ollama_address(env))
    except SimiaError as error:
        return Offer("ollama", "-", (), f"OLLAMA_HOST: {error}")
    models = ollama_models(address)
    note = "nothing answers" if models is None else "no model pulled" if not models else ""
    return Offer("ollama", address.shown, tuple(models or ()), note)


def _embedded(env: Mapping[str, str]) -> Offer:
    notes = []
    if importlib.util.find_spec("xllamacpp") is None:
        notes.append("needs the extra local: pip install '.[local]'")
    if not (model_cache(env) / SMOLLM2.file_name).exists():
        notes.append(f"not fetched yet, {SMOLLM2.size_bytes / 1e6:.0f} MB")
    return Offer("embedded", "this machine", (EMBEDDED_NAME,), "; ".join(notes))
