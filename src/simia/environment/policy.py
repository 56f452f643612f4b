"""An agent that a language model plays through its own tool calls, as an endpoint spells them."""

from simia.config import bits_for
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    Message,
    Sampling,
    ToolSpec,
)

_SEED_BITS = 31


class ModelPolicy:
    """Acts for an agent by asking ``model`` with the conversation and the tools, as any agent framework would.

    The draw depends on ``seed``, ``episode`` and the number of messages, so that a resumed run asks the same again.
    """

    def __init__(
        self, model: ChatModel, *, episode: str, seed: int = 0, temperature: float = 1.0, max_tokens: int = 2048
    ) -> None:
        self._model = model
        self._episode = episode
        self._seed = seed
        self._temperature = temperature
        self._max_tokens = max_tokens

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        """The model's next message. A reply that was cut off is taken as far as it goes."""
        request = ChatRequest(
            model=self._model.name,
            messages=messages,
            tools=tools,
            sampling=Sampling(
                temperature=self._temperature,
                max_tokens=self._max_tokens,
                seed=bits_for(self._seed, f"{self._episode}\x1fagent/{len(messages)}", 0, _SEED_BITS),
            ),
        )
        reply = await self._model.complete(request)
        return AssistantMessage(
            content=reply.text,
            reasoning=reply.reasoning,
            tool_calls=reply.tool_calls,
            malformed_calls=reply.malformed_calls,
        )
