"""The reading of a chat completion: text, reasoning, calls, usage. Tolerant, as servers differ; never inventive."""

import hashlib
import json
from typing import Any

import orjson

from simia.errors import FormatError, ReplyCut, RequestRefused
from simia.formats.calls import Call, call_of, dump_json, split_calls
from simia.types import ChatReply, FinishReason, MalformedToolCall, ToolCall, Usage

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_THINK, _THOUGHT = "<think>", "</think>"


def load_body(data: bytes) -> Any:
    """The JSON value of a whole body. Half of a surrogate pair, which servers leave where the length limit fell between
    the two, becomes U+FFFD: the rest of the reply is good and paid for.

    Raises:
        FormatError: the body is no whole JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return orjson.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    except (ValueError, RecursionError) as cause:
        raise FormatError(f"no whole JSON: {cause}") from cause


def read_completion(body: Any, *, asked: str, shown: str) -> ChatReply:
    """The reply inside a parsed body. ``asked`` is the model's name where the server gives none.

    Raises:
        ReplyCut: the body is a completion without a message.
        RequestRefused: the body is something else, so ``shown`` is not the address of a chat endpoint.
    """
    if not isinstance(body, dict) or "choices" not in body:
        raise RequestRefused(
            f"{shown} answered with status 200, but not with a chat completion: "
            "check the base URL (it usually ends with /v1)"
        )
    choices = body["choices"]
    message = choices[0].get("message") if isinstance(choices, list) and choices and _is_object(choices[0]) else None
    if not isinstance(message, dict):
        raise ReplyCut(f"{shown} answered without a message")
    text, reasoning = (
        _text_of(message.get("content")),
        _text_of(message.get("reasoning_content") or message.get("reasoning")),
    )
    if not reasoning:
        reasoning, text = split_reasoning(text)
    declined = _text_of(message.get("refusal"))
    raw_calls = message.get("tool_calls")
    calls, malformed = _read_calls(raw_calls, str(body.get("id", ""))) if raw_calls else ((), ())
    finish = choices[0].get("finish_reason")
    model = body["model"] if isinstance(body.get("model"), str) and body["model"] else asked
    return ChatReply(
        text=text or declined,
        model=model,
        asked="" if model == asked else asked,
        finish_reason="content_filter" if declined else _FINISH.get(str(finish), "other"),
        reasoning=reasoning or None,
        tool_calls=calls,
        malformed_calls=malformed,
        usage=_read_usage(body),
    )


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning that stands before an answer as ``<think>...</think>``, and the answer.

    A template may have written the opening mark itself, so a closing one alone also ends the reasoning, unless the
    text starts as JSON, where the mark is data. A thought that never ends leaves no answer.
    """
    start = text.lstrip()
    if start.startswith(_THINK):
        thought, _, answer = start[len(_THINK) :].partition(_THOUGHT)
        return thought.strip(), answer.lstrip()
    if _THOUGHT in start and not start.startswith(("{", "[")):
        thought, _, answer = start.partition(_THOUGHT)
        if _THINK not in thought:
            return thought.strip(), answer.lstrip()
    return "", text


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _text_of(content: Any) -> str:
    """Content is text, null, or a list of parts of which the text parts count."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _read_calls(raw: Any, reply_id: str) -> tuple[tuple[ToolCall, ...], tuple[MalformedToolCall, ...]]:
    calls: list[Call] = []
    for index, entry in enumerate(raw if isinstance(raw, list) else [raw]):
        made_id = "call_" + hashlib.sha256(f"{reply_id}/{index}".encode()).hexdigest()[:12]
        function = entry.get("function") if isinstance(entry, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(entry, dict) or not isinstance(function, dict) or not isinstance(name, str) or not name:
            whole = dump_json(entry)
            calls.append(MalformedToolCall(id=made_id, text=whole, reason="the call names no function"))
            continue
        call_id = entry.get("id")
        call_id = call_id if isinstance(call_id, str) and call_id else made_id
        arguments = function.get("arguments")
        if not isinstance(arguments, dict | str):
            arguments = dump_json(arguments)
        calls.append(call_of(call_id, name, arguments))
    return split_calls(calls)


def _read_usage(body: dict[str, Any]) -> Usage:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    prompt = _count(usage.get("prompt_tokens"))
    details, made = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    if not cached:
        timings = body.get("timings")
        # DeepSeek's name, then llama.cpp's, whose older servers count the cache beside the usage.
        cached = _count(usage.get("prompt_cache_hit_tokens")) or (
            _count(timings.get("cache_n")) if isinstance(timings, dict) else 0
        )
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=min(cached, prompt),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(made.get("reasoning_tokens")) if isinstance(made, dict) else 0,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
