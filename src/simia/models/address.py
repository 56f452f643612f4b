"""Where an OpenAI-compatible endpoint is, and how a key is shown to it."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from simia.errors import ConfigError

AZURE_API_VERSION = "2024-10-21"
"""The newest version of Azure's deployment interface that is generally available; ``/openai/v1`` needs none."""

_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_SECRET_WORDS = frozenset({"key", "api_key", "api-key", "apikey", "token", "access_token", "code", "sig", "secret"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


@dataclass(frozen=True, slots=True)
class Address:
    """The addresses of one endpoint. ``shown`` is fit for messages; ``models`` is None where nothing lists models."""

    chat: str
    models: str | None
    shown: str
    is_azure: bool
    is_loopback: bool

    @classmethod
    def of(cls, base_url: str, *, api_version: str | None = None) -> "Address":
        """The endpoint at ``base_url``, in any of the spellings that people paste.

        ``host:port`` and a bare host get ``/v1``; a trailing ``/chat/completions`` is cut off; an Azure address may
        be the resource, its ``/openai/v1``, or one deployment with or without ``api-version``.

        Raises:
            ConfigError: the text is no http address, or it holds a secret, which would end up in the run's folder.
        """
        text = base_url.strip()
        if "://" not in text:
            text = f"http://{text}"
        try:
            parts = urlsplit(text)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            host, port = "", None
        if not host or parts.scheme not in ("http", "https"):
            raise ConfigError("the base URL is no http address: write it like http://127.0.0.1:8000/v1")
        query = dict(parse_qsl(parts.query))
        if parts.username is not None or _SECRET_WORDS & {name.lower() for name in query}:
            raise ConfigError(
                f"the base URL for {host} holds a secret, and simia writes base URLs to disk: "
                "take it out and put the key in the environment variable that api_key_env names"
            )
        is_azure = host.endswith(_AZURE_HOSTS) or "api-version" in query
        path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
        if is_azure and path in ("", "/openai"):
            path = "/openai/v1"
        elif not path:
            path = "/v1"
        deployment = is_azure and "/deployments/" in path
        if deployment and "api-version" not in query:
            query["api-version"] = api_version or AZURE_API_VERSION

        def at(end: str) -> str:
            return urlunsplit((parts.scheme, parts.netloc, path + end, urlencode(query), ""))

        netloc = f"[{host}]" if ":" in host else host
        shown = f"{parts.scheme}://{netloc}{f':{port}' if port else ''}{path}"
        return cls(
            chat=at("/chat/completions"),
            # Azure lists the models that a deployment could be made of, and not the deployments that answer.
            models=None if is_azure else at("/models"),
            shown=shown,
            is_azure=is_azure,
            is_loopback=host in _LOOPBACK,
        )

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that show ``key``, in the endpoint's way; none without a key."""
        if not key:
            return {}
        return {"api-key": key} if self.is_azure else {"Authorization": f"Bearer {key}"}


def usable_key(key: str | None, key_name: str) -> str | None:
    """``key`` without the line end that often comes with a pasted one; None for an empty one.

    Raises:
        ConfigError: no header can carry it. The message names ``key_name`` and never the key.
    """
    key = key.strip() if key is not None else ""
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"the key in {key_name} holds characters that no header can carry: copy it again")
    return key or None
