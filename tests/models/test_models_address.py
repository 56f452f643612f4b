"""The addresses that people paste."""

import pytest

from simia.errors import ConfigError
from simia.models.address import AZURE_API_VERSION, Address

AZURE = "https://me.openai.azure.com"


@pytest.mark.parametrize(
    ("pasted", "chat"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/chat/completions"),
        ("localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("https://host/openai/compat", "https://host/openai/compat/chat/completions"),
        (AZURE, f"{AZURE}/openai/v1/chat/completions"),
        (
            f"{AZURE}/openai/deployments/gpt",
            f"{AZURE}/openai/deployments/gpt/chat/completions?api-version={AZURE_API_VERSION}",
        ),
        (
            f"{AZURE}/openai/deployments/gpt?api-version=2025-01-01-preview",
            f"{AZURE}/openai/deployments/gpt/chat/completions?api-version=2025-01-01-preview",
        ),
    ],
)
def test_a_pasted_address_leads_to_the_chat_endpoint(pasted: str, chat: str) -> None:
    assert Address.of(pasted).chat == chat


def test_a_key_is_a_bearer_token_except_on_azure() -> None:
    assert Address.of("http://host").headers("k") == {"Authorization": "Bearer k"}
    assert Address.of(AZURE).headers("k") == {"api-key": "k"}


def test_without_a_key_no_header_is_sent() -> None:
    assert Address.of("http://host").headers(None) == {}


@pytest.mark.parametrize("path", ["", "/openai/v1", "/openai/deployments/gpt"])
def test_azure_lists_no_deployments_so_its_list_is_not_asked_for(path: str) -> None:
    assert Address.of(AZURE + path).models is None


@pytest.mark.parametrize("text", ["", "ftp://host", "http://", "http://host:port", "file:///etc/passwd"])
def test_what_is_no_http_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="http address"):
        Address.of(text)


@pytest.mark.parametrize("text", ["https://user:secret@host/v1", "https://host/v1?api_key=secret"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Address.of(text)
    assert ":secret" not in str(caught.value)
    assert "=secret" not in str(caught.value)


def test_the_shown_address_has_no_query() -> None:
    assert Address.of("https://host/v1?api-version=1").shown == "https://host/v1"
