"""The agent of a verifiers rollout, in simia's own process: the model's messages in, the environment's answers out.

A harness of verifiers usually is a program that finds its tools at an MCP server, both in processes of their own. This
one is a loop beside the episode, which verifiers allows as long as every call of the model goes through its endpoint:
the session then lives once, and takes the agent's message whole, with parallel calls and with calls that cannot be
read. A tool server would see single calls, and nothing of the message that made them.
"""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
import verifiers.v1 as vf
from pydantic import ConfigDict
from verifiers.v1.dialects.chat import message_to_wire

from simia.environment.session import Session
from simia.errors import ContextOverflow, EpisodeMisused, ModelError, RateLimited, ServerFailed, TransientModelError
from simia.formats import openai
from simia.models.answers import load_body, read_completion
from simia.models.refusals import Asked, refusal
from simia.types import AssistantMessage, JsonObject, StopReason, ToolMessage

_TRIES = 5
_FIRST_S, _LONGEST_S = 0.5, 30.0
_SHOWN = "the endpoint of verifiers"
_LIMITS = {
    "max_turns": StopReason.MAX_TURNS,
    "max_input_tokens": StopReason.MAX_TOKENS,
    "max_output_tokens": StopReason.MAX_TOKENS,
    "max_total_tokens": StopReason.MAX_TOKENS,
}


class SimiaState(vf.State):
    """What a rollout carries and no record holds: its episode."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    session: Session | None = None


class SimiaHarnessConfig(vf.HarnessConfig):
    """Nothing beyond what every harness has, of which none is used."""


class SimiaHarness(vf.Harness[SimiaHarnessConfig]):
    """Lets the model act until it speaks to the user, or the episode is over."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """One segment. ``data.prompt`` is the conversation so far, which ends with what the user said."""
        session = trace.state.session
        if session is None:
            raise EpisodeMisused("the rollout has no episode: this harness plays tasksets of simia only")
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        messages += [message_to_wire(message) for message in prompt]
        async with ModelCalls(endpoint, secret, ctx.model, session) as model:
            await speak(session, model, messages, trace)
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class ModelCalls:
    """The model behind the endpoint of one rollout, asked in the spelling in which it answers, so that a conversation
    comes back to verifiers exactly as it left and stays one branch.
    """

    def __init__(self, endpoint: str, secret: str, model: str, session: Session) -> None:
        self._url = f"{endpoint}/chat/completions"
        self._model = model
        self._asked = Asked(shown=_SHOWN, model=model, key=secret, key_name="its rollout")
        self._tools = openai.render_tools(session.tools)
        self._client = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def ask(self, messages: Sequence[JsonObject]) -> Any:
        """The whole completion that follows ``messages``, after a few tries.

        Raises:
            ModelError: of the kind of the last failure.
        """
        fields: JsonObject = {"model": self._model, "messages": list(messages)}
        body = orjson.dumps(fields | ({"tools": self._tools} if self._tools else {}))
        for retry in range(_TRIES):
            try:
                return await self._once(body, retry)
            except TransientModelError as cause:
                if retry == _TRIES - 1:
                    raise
                wait = cause.retry_after_s if isinstance(cause, RateLimited) else None
            await asyncio.sleep(min(_LONGEST_S, _FIRST_S * 2**retry if wait is None else wait))
        raise AssertionError("the last try neither returned nor raised")

    async def _once(self, body: bytes, retry: int) -> Any:
        # By this header verifiers knows a request that it may have answered already, and commits its answer once.
        headers = {"x-stainless-retry-count": str(retry)} if retry else {}
        try:
            async with self._client.post(self._url, data=body, headers=headers) as response:
                data = await response.read()
        except (aiohttp.ClientError, OSError) as cause:
            raise ServerFailed(f"the connection to {_SHOWN} broke ({type(cause).__name__})") from None
        if response.status != 200:
            raise refusal(response.status, response.headers, data, self._asked)
        return load_body(data)


async def speak(session: Session, model: ModelCalls, messages: list[JsonObject], trace: vf.Trace) -> None:
    """Go on from ``messages``, which grow, until the user has the word or the episode is over.

    A limit of verifiers truncates the episode as one of simia does.

    Raises:
        ModelError: nobody answered.
    """
    while not session.is_over:
        try:
            completion = await model.ask(messages)
        except ContextOverflow as cause:
            session.cut(StopReason.CONTEXT_OVERFLOW, str(cause))
            return
        except ModelError:
            if trace.stop_condition is None:
                raise
            session.cut(_LIMITS.get(trace.stop_condition, StopReason.MAX_TURNS), f"verifiers: {trace.stop_condition}")
            return
        message, spelled = _read(completion, {call.id for call in _calls(session)})
        raw = completion["choices"][0]["message"]
        messages.append({key: value for key, value in raw.items() if value is not None})
        step = await session.step(message)
        results = [result for result in step.messages if isinstance(result, ToolMessage)]
        back = [result.model_copy(update={"call_id": spelled[result.call_id]}) for result in results]
        messages += openai.render_messages(back)
        if len(results) < len(step.messages):
            return


def _calls(session: Session) -> list[Any]:
    said = (message for message in session.environment.messages if isinstance(message, AssistantMessage))
    return [call for message in said for call in (*message.tool_calls, *message.malformed_calls)]


def _read(completion: Any, used: set[str]) -> tuple[AssistantMessage, dict[str, str]]:
    """The message in a completion; and for the id of each call the one that the endpoint gave it.

    Some engines count calls anew in every message, while an id is unique in an episode.
    """
    reply = read_completion(completion, asked="", shown=_SHOWN)
    spelled: dict[str, str] = {}

    def own(call: Any) -> Any:
        call_id, count = call.id, 1
        while call_id in used or call_id in spelled:
            count += 1
            call_id = f"{call.id}#{count}"
        spelled[call_id] = call.id
        return call.model_copy(update={"id": call_id})

    message = AssistantMessage(
        content=reply.text,
        reasoning=reply.reasoning,
        tool_calls=tuple(own(call) for call in reply.tool_calls),
        malformed_calls=tuple(own(call) for call in reply.malformed_calls),
    )
    return message, spelled
