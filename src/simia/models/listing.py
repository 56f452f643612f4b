"""Which models an endpoint says it serves, asked before a run with the standard library: one small request each."""

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import orjson

from simia.errors import AuthenticationFailed, ConfigError, ServerFailed
from simia.models.address import Address
from simia.models.refusals import Asked, refusal

_OLLAMA = "127.0.0.1:11434"
_OLLAMA_WAIT_S = 0.5
_CHECK_S = 15.0


def ollama_address(env: Mapping[str, str]) -> str:
    """``OLLAMA_HOST`` also tells the server where to listen, so it may be every interface, or lack the port."""
    host = env.get("OLLAMA_HOST") or _OLLAMA
    scheme, sign, rest = host.partition("://")
    rest = (rest if sign else host).rstrip("/").replace("0.0.0.0", "127.0.0.1")
    if ":" not in rest.rpartition("]")[2] and "/" not in rest:
        rest = f"{rest}:11434"
    return f"{scheme if sign else 'http'}://{rest}"


def ollama_models(address: Address) -> list[str] | None:
    """What a running Ollama serves, the newest first; None where none runs."""
    try:
        with _get(f"{address.shown.removesuffix('/v1')}/api/tags", {}, _OLLAMA_WAIT_S) as answer:
            entries = orjson.loads(answer.read())["models"]
        entries.sort(key=lambda entry: str(entry.get("modified_at", "")), reverse=True)
        return [str(entry["name"]) for entry in entries]
    except (OSError, http.client.HTTPException, orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None


def models_at(address: Address, asked: Asked) -> list[str] | None:
    """The models that the endpoint lists; None where it lists none, which is no fault.

    Raises:
        AuthenticationFailed: it refuses the key.
        ServerFailed: nothing answers, or it fails.
        ConfigError: its certificate is not valid.
    """
    if address.models is None:
        return None
    try:
        with _get(address.models, address.headers(asked.key), _CHECK_S) as answer:
            body: Any = orjson.loads(answer.read())
    except urllib.error.HTTPError as answer:
        error = refusal(answer.code, dict(answer.headers), answer.read(65536), asked)
        answer.close()
        if isinstance(error, AuthenticationFailed):
            raise error from None
        if answer.code >= 500 and answer.code != 501:
            raise ServerFailed(f"{error}; asked for its models before the run") from None
        return None
    except urllib.error.URLError as cause:
        if isinstance(cause.reason, ssl.SSLCertVerificationError):
            raise ConfigError(
                f"the certificate of {address.shown} is not valid: {cause.reason.verify_message}"
            ) from None
        reason = getattr(cause.reason, "strerror", None) or cause.reason
        raise ServerFailed(f"cannot reach {address.shown} ({reason}): is the server running?") from None
    except (OSError, http.client.HTTPException) as cause:
        raise ServerFailed(f"{address.shown} gave no answer ({type(cause).__name__}): is the server running?") from None
    except orjson.JSONDecodeError:
        return None
    entries = body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return None
    return [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry] or None


def _get(url: str, headers: Mapping[str, str], timeout_s: float) -> Any:
    request = urllib.request.Request(url, headers=dict(headers))
    is_loopback = Address.of(url).is_loopback
    proxies = urllib.request.ProxyHandler({} if is_loopback else None)
    return urllib.request.build_opener(proxies, _NoRedirect()).open(request, timeout=timeout_s)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None
