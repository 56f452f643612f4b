"""What is offered to somebody who asks which models there are."""

from pathlib import Path

from simia.models.available import Offer, available
from simia.models.settings import ModelSettings

KEY = "sk-1234567890abcdef"


def offers(tmp_path: Path, **env: str) -> dict[str, Offer]:
    everything = {"OLLAMA_HOST": "127.0.0.1:1", "XDG_CACHE_HOME": str(tmp_path), **env}
    return {offer.place: offer for offer in available(ModelSettings(), everything)}


def test_a_place_without_models_says_why(tmp_path: Path) -> None:
    found = offers(tmp_path)
    assert found["endpoint"].note == "OPENAI_BASE_URL is not set"
    assert found["ollama"].note == "nothing answers"


def test_the_embedded_model_is_always_offered(tmp_path: Path) -> None:
    assert offers(tmp_path)["embedded"].models == ("SmolLM2-135M-Instruct",)


def test_a_dead_endpoint_is_a_note_and_no_error_and_shows_no_key(tmp_path: Path) -> None:
    found = offers(tmp_path, OPENAI_BASE_URL="http://127.0.0.1:1", OPENAI_API_KEY=KEY)
    assert "cannot reach" in found["endpoint"].note
    assert KEY not in repr(found)
