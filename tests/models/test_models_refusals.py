"""What servers say when they refuse, and what simia makes of it."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from simia.models.refusals import Asked, is_about_one_text, refusal, retry_after_s

KEY = "sk-1234567890abcdef"
ASKED = Asked(shown="http://host/v1", model="tiny", key=KEY, key_name="OPENAI_API_KEY")


def said(status: int, message: str, **more: object) -> ModelError:
    return refusal(status, {}, orjson.dumps({"error": {"message": message, **more}}), ASKED)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "Request contains an invalid argument.", RequestRefused),
        (401, "Incorrect API key provided.", AuthenticationFailed),
        (402, "Payment required", AuthenticationFailed),
        (400, "Your credit balance is too low to access the API.", AuthenticationFailed),
        (400, "messages[3].content: string too odd: 'What is my credit balance?'", RequestRefused),
        (403, "Forbidden", AuthenticationFailed),
        (404, "The model `tiny` does not exist.", ModelNotFound),
        (404, "File Not Found", ModelNotFound),
        (408, "Request Timeout", ModelTimeout),
        (409, "Conflict", ServerFailed),
        (422, "Extra inputs are not permitted", RequestRefused),
        (429, "Rate limit reached for requests", RateLimited),
        (429, "You exceeded your current quota (insufficient_quota)", AuthenticationFailed),
        (429, "Rate limit reached. Visit https://host/account/billing to add a payment method.", RateLimited),
        (429, "You exceeded your current quota, check your plan and billing. Please retry in 15.0s.", RateLimited),
        (500, "Internal server error", ServerFailed),
        (503, "Loading model", ServerFailed),
        (529, "Overloaded", ServerFailed),
    ],
)
def test_a_status_becomes_the_drawn_error(status: int, message: str, kind: type[ModelError]) -> None:
    assert type(said(status, message)) is kind


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."),
        (400, "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only"
              " 1024 tokens, resulting in a maximum input length of 1014 tokens."),
        (400, "request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it"),
        (500, "the request exceeds the available context size (exceed_context_size_error)"),
        (400, "Requested token count exceeds the model's maximum context length of 32768 tokens."),
        (400, "The input (70000 tokens) is longer than the model's context length (65536 tokens)."),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, "input length exceeds the context length"),
        (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    ],
)  # fmt: skip
def test_an_overflow_is_recognised_in_the_words_of_each_server(status: int, message: str) -> None:
    assert type(said(status, message)) is ContextOverflow


@pytest.mark.parametrize(
    "message",
    [
        "This response_format type is unavailable now",
        "invalid value: `json_schema`, supported values are: `json_object` and `text`",
        "Unsupported parameter: 'response_format'",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "structured output is not supported",
        "The provided JSON schema contains features not supported by xgrammar.",
        'Grammar error: Unimplemented keys: ["contains"]',
        "The specified schema produces a constraint that has too many states for serving.",
        "JSON schema conversion failed: Unrecognized schema",
        "Failed to parse grammar",
    ],
)
def test_a_refused_schema_is_recognised(message: str) -> None:
    error = said(400, message)
    assert type(error) is StructuredOutputUnsupported
    assert "(model.structured=off; for the model of one role roles.NAME.structured=off): " in str(error)


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (403, "Your chosen model requires moderation and your input was flagged", {}),
        (403, "openai/gpt-4o requires moderation on Azure. Your input was flagged for \"violence\".", {}),
        (400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
         {"code": "content_filter"}),
        (400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", {}),
        (400, "Your request was rejected as a result of our safety system.", {}),
        (400, "Content Exists Risk", {}),
        (400, "Input data may contain inappropriate content.", {"code": "data_inspection_failed"}),
    ],
)  # fmt: skip
def test_a_moderated_text_is_the_refusal_of_one_item(status: int, message: str, more: dict[str, str]) -> None:
    error = said(status, message, **more)
    assert type(error) is RequestRefused
    assert is_about_one_text(error)


@pytest.mark.parametrize("message", ["Forbidden", "Your account was flagged for abuse", "Key limit exceeded"])
def test_any_other_403_is_about_the_key_and_says_so(message: str) -> None:
    error = said(403, message)
    assert type(error) is AuthenticationFailed
    assert "check what the key in OPENAI_API_KEY may do" in str(error)


def test_a_word_that_stands_for_a_key_is_not_struck_out_of_other_words() -> None:
    asked = Asked(shown="http://host/v1", model="tiny", key="x", key_name="OPENAI_API_KEY")
    error = refusal(400, {}, b"the maximum context length is 10", asked)
    assert "maximum context length" in str(error)
    assert " *** " in str(refusal(400, {}, b"the key x is wrong", asked))


def test_a_refused_parameter_is_not_about_one_text() -> None:
    error = said(400, "Unsupported parameter: 'top_p' is not supported with this model.")
    assert type(error) is RequestRefused
    assert not is_about_one_text(error)


@pytest.mark.parametrize("status", [400, 404, 422])
def test_servers_without_schemas_are_told_from_a_missing_model(status: int) -> None:
    error = said(status, "No endpoints found that support structured outputs")
    assert type(error) is StructuredOutputUnsupported


def test_the_name_of_a_missing_model_is_no_word_of_the_protocol() -> None:
    asked = Asked(shown="http://host/v1", model="grammar-7b", key=None, key_name="KEY")
    assert type(refusal(404, {}, b"model 'grammar-7b' not found", asked)) is ModelNotFound


@pytest.mark.parametrize(
    "message", ["model 'tiny' not found", "Invalid model name passed in model=tiny", "Model tiny does not exist"]
)
def test_an_unknown_model_is_recognised_behind_a_status_of_400(message: str) -> None:
    assert type(said(400, message)) is ModelNotFound


def test_a_refused_key_names_the_environment_variable() -> None:
    assert "OPENAI_API_KEY is wrong" in str(said(401, "no"))


def test_a_missing_key_is_told_from_a_wrong_one() -> None:
    without = Asked(shown="http://host/v1", model="tiny", key=None, key_name="MY_KEY")
    assert "MY_KEY is not set" in str(refusal(401, {}, b"", without))


def test_a_redirect_says_where_to() -> None:
    error = refusal(308, {"Location": "https://host/v1"}, b"", ASKED)
    assert "redirects to https://host/v1" in str(error)


def test_a_message_is_one_readable_line() -> None:
    text = str(said(500, "a\nb\tc " + "x" * 10_000))
    assert "\n" not in text
    assert len(text) < 500


def test_a_web_page_is_not_quoted() -> None:
    assert "<" not in str(refusal(502, {}, b"<html><body>Bad Gateway</body></html>", ASKED))


@pytest.mark.parametrize(
    "body",
    [b'{"detail": "why"}', b'{"error": "why"}', b'{"message": "why"}', b'[{"error": {"message": "why"}}]', b"why"],
)
def test_the_reason_is_found_in_each_servers_shape(body: bytes) -> None:
    assert str(refusal(400, {}, body, ASKED)).endswith(": why")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    seconds = retry_after_s({"Retry-After": when})
    assert seconds is not None
    assert 55 < seconds <= 60


def test_a_busy_server_that_says_when_to_come_back_is_rate_limiting() -> None:
    error = refusal(503, {"Retry-After": "3"}, b"", ASKED)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 3


@settings(max_examples=200, deadline=None)
@given(
    status=st.sampled_from([301, 400, 401, 403, 404, 408, 422, 429, 500, 503]),
    before=st.text(max_size=400),
    after=st.text(max_size=20),
    shape=st.sampled_from(["message", "text", "list"]),
)
def test_the_key_is_in_no_message_whatever_the_server_says(status: int, before: str, after: str, shape: str) -> None:
    words = f"{before}{KEY}{after}"
    body = {
        "message": orjson.dumps({"error": {"message": words, "code": KEY}}),
        "text": words.encode(),
        "list": orjson.dumps([words]),
    }[shape]
    assert KEY not in str(refusal(status, {"Location": f"http://x/?key={KEY}"}, body, ASKED))


@pytest.mark.parametrize(
    ("words", "wait_s"),
    [
        ("Please retry in 15.5s.", 15.5),
        ("Please try again in 6m0s. Visit https://host", 360.0),
        ("Please try again in 120ms.", 0.12),
        ("Please retry after 20 seconds.", 20.0),
        ("Try again in 1h2m3s", 3723.0),
        ("Please try again in a while", None),
        ("Please try again in 1.2.3s", None),
    ],
)
def test_a_wait_that_stands_in_the_words_is_honoured(words: str, wait_s: float | None) -> None:
    error = said(429, f"Rate limit reached. {words}")
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == pytest.approx(wait_s)


def test_the_header_is_believed_before_the_words() -> None:
    body = orjson.dumps({"error": {"message": "Please retry in 15s."}})
    error = refusal(429, {"Retry-After": "3"}, body, ASKED)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 3.0


@pytest.mark.parametrize(("status", "may"), [(500, False), (502, False), (504, True), (524, True)])
def test_a_gateway_that_gave_up_waiting_may_have_been_answered(status: int, may: bool) -> None:
    error = said(status, "Gateway")
    assert isinstance(error, ServerFailed)
    assert error.may_have_answered is may
