"""Tools that a language model plays, boxed in by the program: calls, results and state changes are checked."""

from typing import Any

from pydantic import ValidationError

from simia.errors import ContextOverflow, FormatError, StateError
from simia.formats.calls import dump_json
from simia.prompts import fence, load
from simia.seeds.calls import call_problem
from simia.seeds.invariants import violations
from simia.simulate.asking import Answer, Inadmissible, Wanted, ask, culprit, must
from simia.simulate.history import shown_history
from simia.simulate.operations import KEY, computed
from simia.simulate.parts import remembered, tool_lines
from simia.simulate.planned import Draws
from simia.simulate.schemas import transition_schema
from simia.simulate.settings import SimulateSettings
from simia.simulate.state_view import excerpt, words_of
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    JsonObject,
    Message,
    Sampling,
    State,
    StateDelta,
    SystemMessage,
    ToolMessage,
    Transition,
    TransitionQuery,
    UserMessage,
    WorldSpec,
    content_id,
)

PROMPTS = ("turns_tools", "turns_tools_call")

_NO_FIT = "the changes do not fit the state"
_BREAKS = "the changes break the state"
_MAX_EXAMPLES = 2
_EXAMPLE_CHARS = 1200

# Shared by all dynamics: every group of episodes has one of its own, and to make a schema takes longer than a step.
_schemas: dict[tuple[str, str, bool, bool], JsonObject] = {}


def tracked_state(world: WorldSpec, state: State | None) -> State | None:
    """``state`` if it is tracked: shown to whoever plays, and changed by calls. None for a world without state schema,
    which says nothing of what a change may be.
    """
    return None if world.state_schema is None else state


class TrackedDynamics:
    """A ``Dynamics`` over a language model and a tracked state.

    A call that does not fit is refused in simia's own words and no model is asked. Else the model proposes result
    and changes; they are taken only if the result fits the tool's ``returns`` and the changed state obeys the state
    schema and the invariants, as far as the state did before. Without a state, or for a world without state schema,
    the history alone is what the model goes by, and the transition has no delta. With the setting ``operations`` the
    model may first have something computed, of which nothing is left in the transition.

    The draw depends on the settings' seed and on what the model is shown, nothing else: the same call in the same
    state and history gets the same request, so a cache gives a whole group of episodes one answer. Another ``attempt``
    is another draw with the same prompt.
    """

    def __init__(self, model: ChatModel, settings: SimulateSettings, *, attempt: int = 0) -> None:
        self._model = model
        self._settings = settings
        self._attempt = attempt
        self._systems: dict[tuple[str, str, bool], SystemMessage] = {}

    def request(self, query: TransitionQuery) -> ChatRequest:
        """The question that a fitting call becomes."""
        settings, world, call = self._settings, query.world, query.call
        before = tracked_state(world, query.state)
        tracked = before is not None
        call_text = dump_json({"name": call.name, "arguments": call.arguments})
        history = shown_history(query.history, settings.history_chars)
        examples = () if tracked else _examples(query.reference, call.name)
        state, not_shown = None, ""
        if before is not None:
            state, not_shown = excerpt(before, words_of(call.arguments), settings.state_chars)
        tag = _draws(query, settings.seed).tag("tools/fence", (history, call_text, state or "", *examples))
        content = load("turns_tools_call").render(
            history=fence(history, tag, "past") if history else "",
            examples=fence("\n".join(examples), tag, "examples") if examples else "",
            state=None if state is None else fence(state, tag, "state"),
            not_shown=not_shown,
            call=fence(call_text, tag, "call"),
        )
        schema = None
        if settings.structured:
            key = (world.content_id, call.name, tracked, settings.operations)
            schema = remembered(
                _schemas,
                key,
                lambda: transition_schema(world, call.name, tracked=tracked, operations=settings.operations),
            )
        return ChatRequest(
            model=self._model.name,
            messages=(
                self._system(query, tracked=tracked),
                UserMessage(content=content),
            ),
            sampling=Sampling(
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=Draws(settings.seed, content_id(content), self._attempt).sampling_seed("tools"),
            ),
            response_schema=schema,
        )

    async def transition(self, query: TransitionQuery) -> Transition:
        """What the call shows and changes.

        Raises:
            SimulatorError: every proposal of the model was inadmissible; the message has the last reason.
            ContextFilled: the call alone is more than half of a prompt that is too long.
        """
        answer = await self.propose(query)
        return must(answer, f"the simulated tool {query.call.name!r}").value

    async def propose(self, query: TransitionQuery) -> Answer[Transition] | Inadmissible:
        """The first admissible proposal of the model with the reply that made it, or the last inadmissible one and why.
        A call that does not fit is answered without a reply.
        """
        problem = call_problem(query.world, query.call)
        if problem is not None:
            delta = None if tracked_state(query.world, query.state) is None else StateDelta()
            refused = Transition(observation=dump_json({"error": problem}), is_error=True, delta=delta)
            return Answer(refused, repaired=False, text="")

        def read(value: Any) -> Transition | Wanted:
            if self._settings.operations and isinstance(value, dict) and KEY in value:
                return _results(value, query, self._settings.seed)
            return _read(value, query)

        request = self.request(query)
        try:
            return await ask(self._model, request, read, self._settings.max_repairs)
        except ContextOverflow as cause:
            raise culprit(cause, request, len(dump_json(query.call.arguments))) from cause

    def _system(self, query: TransitionQuery, *, tracked: bool) -> SystemMessage:
        """What all calls in a world share."""
        world = query.world
        key = (world.content_id, "", tracked)
        return remembered(self._systems, key, lambda: _instruction(world, self._settings, tracked=tracked))


def fenced_code(source: str, seed: int) -> str:
    """The code of a tool, which a stranger may have written, as data. The tag follows from the code itself, so that
    all calls share one prompt, and whoever writes the code cannot write the tag into it.
    """
    code = source.strip()
    return fence(code, Draws(seed, content_id(code)).tag("tools/code", (code,)), "code")


def _instruction(world: WorldSpec, settings: SimulateSettings, *, tracked: bool) -> SystemMessage:
    content = load("turns_tools").render(
        tools=tool_lines(world, show_returns=True),
        sources=[fenced_code(tool.source, settings.seed) for tool in world.tools if tool.source],
        tracked=tracked,
        operations=settings.operations,
    )
    return SystemMessage(content=content)


def _draws(query: TransitionQuery, seed: int) -> Draws:
    """The random numbers of one conversation in one world, for fences that stay the same while its history grows."""
    opening = query.history[0].content if query.history else ""
    return Draws(seed, content_id([query.world.content_id, opening]))


def _examples(reference: tuple[Message, ...], name: str) -> tuple[str, ...]:
    """What the tool returned in the reference: where no state is shown, the only sight of real results."""
    arguments = {
        call.id: call.arguments
        for message in reference
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    found: list[str] = []
    for message in reference:
        if isinstance(message, ToolMessage) and message.name == name and len(found) < _MAX_EXAMPLES:
            called = dump_json(arguments.get(message.call_id, {}))
            found.append(f"{called} gave {message.content[:_EXAMPLE_CHARS]}")
    return tuple(found)


def _results(value: JsonObject, query: TransitionQuery, seed: int) -> Wanted:
    """What the operations in ``value`` come to: as data, for a new id holds what others wrote into the state."""
    if value.keys() != {KEY}:
        raise FormatError(f'an answer with "{KEY}" holds nothing else: the results come first, then the answer')
    results = dump_json(computed(value[KEY], tracked_state(query.world, query.state)))
    tag = _draws(query, seed).tag("tools/results", (results,))
    return Wanted(f"The results, in order:\n{fence(results, tag, 'results')}\nGo on with one JSON object only.")


def _read(value: Any, query: TransitionQuery) -> Transition:
    if not isinstance(value, dict) or "observation" not in value or not isinstance(value.get("is_error"), bool):
        raise FormatError('the answer is no object with "is_error" (true or false) and "observation"')
    observation = value["observation"]
    # A result that is nothing but an error is one, whatever the flag says.
    is_error = value["is_error"] or (isinstance(observation, dict) and observation.keys() == {"error"})
    returns = query.world.tool[query.call.name].returns_schema
    if not is_error and returns is not None:
        wrong = returns.violations(observation)
        if wrong:
            raise FormatError(f"the observation does not fit what {query.call.name} returns: {'; '.join(wrong)}")
    text = observation if isinstance(observation, str) else dump_json(observation)
    if _NO_FIT in text or _BREAKS in text:
        # A small model that is told why its answer is inadmissible tells it to the agent.
        raise FormatError("the observation says what only you were told: give there what the tool itself would return")
    before = tracked_state(query.world, query.state)
    if before is None:
        return Transition(observation=text, is_error=is_error)
    delta = _read_changes(value.get("changes", []))
    if is_error and delta.size:
        raise FormatError('a refused call changes nothing: "changes" must be empty')
    try:
        after = delta.apply(before)
    except StateError as cause:
        raise FormatError(f"{_NO_FIT}: {cause}") from cause
    if delta.size:
        known = violations(query.world, before)
        broken = [sentence for sentence in violations(query.world, after) if sentence not in known]
        if broken:
            raise FormatError(f"{_BREAKS}: {'; '.join(broken)}")
    # Changes that change nothing (a value put again) are left out, so that the delta's size is its true size.
    return Transition(observation=text, is_error=is_error, delta=StateDelta.between(before, after))


def _read_changes(changes: Any) -> StateDelta:
    try:
        return StateDelta.model_validate({"changes": changes})
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where = "/".join(str(part) for part in first["loc"])
        raise FormatError(f"{where}: {first['msg']}") from cause
