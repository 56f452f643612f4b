"""What a status other than 200 means, as one of the drawn errors, in one line that says what to do.

Servers agree on status codes only roughly, so some meanings are read from the wording. The wordings were taken from
OpenAI, Azure, Anthropic's and Google's compatible endpoints, vLLM, SGLang, TensorRT-LLM, llama.cpp and Ollama.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from simia.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ModelError,
    ModelNotFound,
    ModelTimeout,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StructuredOutputUnsupported,
)

_CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|(?:maximum|max|model'?s|available|allowed|supported)[\w' ]{0,20} "
    r"context (?:length|size|window)|context (?:length|size|window)[\w ]{0,20}(?:exceed|is only|too)|"
    r"exceeds? (?:the |its |this )?(?:\w+ )?context|longer than the (?:model'?s )?context|prompt is too long|"
    r"input (?:is )?too long|too many (?:input )?tokens|input token count|max_model_len|max_prompt_tokens|"
    r"reduce the length of the (?:input|messages|prompt)",
    re.IGNORECASE,
)
_STRUCTURED = re.compile(
    r"response_format|json[ _]schema|json_object|structured[ _]output|guided[ _]|grammar|json mode|"
    r"(?:specified|provided|response|reply|output) schema|(?:unrecognized|unsupported) schema",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|deploymentnotfound|model\b.{0,120}?(?:not found|does not exist|not exist|unknown|no such)|"
    r"(?:no such|unknown|invalid|unsupported) model|invalid model name|not a valid model|try pulling it",
    re.IGNORECASE | re.DOTALL,
)
_MODERATED = re.compile(
    r"moderation|content[ _-]?(?:policy|filter|management policy)|"
    r"(?:input|prompt|content|message|request)s?\b[\w ,']{0,30}flagged|"
    r"data_inspection_failed|inappropriate content|content exists risk|safety system|considered high risk|"
    r"prohibited_content|responsibleaipolicyviolation",
    re.IGNORECASE,
)
# Not "billing" or "current quota": OpenAI and Google say these also where a minute's rate is used up.
_NO_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|credit balance|insufficient balance", re.IGNORECASE)
_NO_CREDIT = re.compile(r"your credit balance is too low to access", re.IGNORECASE)
_COME_BACK = re.compile(
    r"(?:retry|try again) (?:in|after) (?:about )?(?P<time>(?:[\d.]+ ?(?:mil|[hms])[a-z]* ?)+)", re.IGNORECASE
)
_SPAN = re.compile(r"([\d.]+) ?(ms|mil|[hms])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
NO_JSON = "cannot be written as JSON"
"""In the refusal of a request that was never sent, because a text in it is no Unicode."""

_LONGEST_WORDS = 300
_SHORTEST_SECRET = 8
# A gateway stopped waiting for a server that may still have written, and charged for, the answer.
_GAVE_UP = (504, 524)
# In our own words, which no server's message cuts off.
DECLINED = "will not answer this one text"
"""In the refusal of a text that the endpoint's moderation does not like."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the messages about one endpoint may name. ``key`` is here only to be struck out of what a server says."""

    shown: str
    model: str
    key: str | None
    key_name: str

    def clean(self, text: str) -> str:
        """``text`` on one line, cut to a readable length, without the key."""
        if self.key and len(self.key) >= _SHORTEST_SECRET:
            text = text.replace(self.key, "***")
        elif self.key:
            # Only as a word of its own: servers without keys get "x" or "none", which stand inside ordinary words.
            text = re.sub(rf"(?<!\w){re.escape(self.key)}(?!\w)", "***", text)
        line = " ".join(text.split())
        return line if len(line) <= _LONGEST_WORDS else line[: _LONGEST_WORDS - 3] + "..."


def refusal(status: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> ModelError:
    """The error that an answer with this status means."""
    raw = words_of(body)
    words = asked.clean(raw)
    says = f": {words}" if words else ""
    if status in (400, 403, 422, 451) and _MODERATED.search(raw):
        return RequestRefused(f"the moderation of {asked.shown} {DECLINED} (status {status}){says}")
    if status == 403 and asked.key:
        return AuthenticationFailed(
            f"{asked.shown} forbids this (status 403): check what the key in {asked.key_name} may do, and whether it "
            f"may use the model {asked.model!r}{says}"
        )
    if status in (401, 403):
        what = "is wrong" if asked.key else "is not set"
        return AuthenticationFailed(
            f"{asked.shown} refused the key (status {status}); {asked.key_name} {what}: set it to a valid key{says}"
        )
    wait = retry_after_s(headers)
    wait = _told_wait_s(raw) if wait is None else wait
    is_spent = (status == 429 and wait is None and _NO_QUOTA.search(raw)) or (status == 400 and _NO_CREDIT.search(raw))
    if status == 402 or is_spent:
        return AuthenticationFailed(
            f"{asked.shown} has no quota left for the key in {asked.key_name}: check its billing{says}"
        )
    if status == 429 or (status == 503 and "Retry-After" in headers):
        asks = f", asks to wait {wait:g} s" if wait is not None else ""
        return RateLimited(f"{asked.shown} is busy (status {status}{asks}){says}", wait)
    if status == 408:
        return ModelTimeout(f"{asked.shown} gave up waiting (status 408){says}")
    # Older llama.cpp and some gateways report an overflow with a status of 5xx, which no retry would cure.
    if (status < 500 or "exceed_context_size" in raw) and _CONTEXT.search(raw):
        return ContextOverflow(f"the prompt and the reply asked for do not fit the context of {asked.model!r}{says}")
    # Before the unknown model: a gateway says 404 where none of its servers knows schemas.
    if status in (400, 404, 422, 501) and _STRUCTURED.search(_without(asked.model, raw)):
        return StructuredOutputUnsupported(
            f"{asked.shown} refuses the JSON Schema of the reply: set structured to json_object or off "
            f"(model.structured=off; for the model of one role roles.NAME.structured=off){says}"
        )
    if status >= 500 or status in (409, 425):
        return ServerFailed(f"{asked.shown} failed (status {status}){says}", may_have_answered=status in _GAVE_UP)
    if status == 404 or (status in (400, 422) and _NO_MODEL.search(raw)):
        if status == 404 and not _names_model(raw, asked.model):
            return ModelNotFound(
                f"nothing answers at {asked.shown}/chat/completions (status 404): "
                f"check the base URL (it usually ends with /v1) and the model {asked.model!r}{says}"
            )
        return ModelNotFound(f"{asked.shown} does not serve the model {asked.model!r}: check --model{says}")
    if 300 <= status < 400:
        where = asked.clean(headers.get("Location", "nowhere"))
        return RequestRefused(f"{asked.shown} redirects to {where} (status {status}): use that as the base URL")
    return RequestRefused(f"{asked.shown} refused the request (status {status}){says}")


def is_about_one_text(error: RequestRefused) -> bool:
    """Whether the refusal says something about what was sent, and nothing about other requests."""
    words = str(error)
    return DECLINED in words or NO_JSON in words


def words_of(body: bytes) -> str:
    """What a server says in an error body: its message with type and code where it is JSON, else its text."""
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body[:4096].decode("utf-8", "replace")
        return "" if text.lstrip().startswith("<") else text
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return str(value)
    error = value.get("error", value)
    if not isinstance(error, dict):
        return str(error)
    message = error.get("message") or error.get("detail") or error.get("msg") or value.get("message")
    text = message if isinstance(message, str) else orjson.dumps(message or error).decode()
    marks = [mark for mark in (error.get("code"), error.get("type"), error.get("param")) if isinstance(mark, str)]
    news = [mark for mark in dict.fromkeys(marks) if mark and mark not in text]
    return f"{text} ({', '.join(news)})" if news else text


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """What ``Retry-After`` asks for (RFC 9110, section 10.2.3: seconds or a date), or None."""
    milliseconds = headers.get("retry-after-ms")
    text = headers.get("Retry-After")
    if milliseconds is None and text is None:
        return None
    try:
        seconds = float(milliseconds) / 1000 if milliseconds is not None else float(text or "")
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _told_wait_s(words: str) -> float | None:
    """The wait that a message asks for, as "Please try again in 6m0s" or "retry in 15.0s", or None."""
    told = _COME_BACK.search(words)
    if told is None:
        return None
    try:
        return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(told["time"]))
    except ValueError:
        return None


def _names_model(words: str, model: str) -> bool:
    return bool(words) and (model in words or _NO_MODEL.search(words) is not None)


def _without(model: str, words: str) -> str:
    """``words`` without the model's name, which may look like a word of the protocol."""
    return re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "", words) if model else words
