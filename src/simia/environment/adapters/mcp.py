"""MCP: the tools of one episode as a server over standard input and output. Needs the extra ``mcp``.

MCP carries tools and nothing else: no user who speaks, no reward, no choice of the task. So one process serves one
episode, whose task and seed are settled at the start; when the connection ends the agent is taken to have left content,
and the episode is judged. A user who answers cannot take part: see :func:`mcp_recipe`.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from simia import __version__
from simia.environment.recipe import ArenaRecipe
from simia.environment.serving import Seat
from simia.errors import EpisodeMisused, SimiaError, boundary
from simia.formats.calls import foreign_call
from simia.types import MalformedToolCall, Message, ToolMessage, UserMessage

PROMPT = "task"
_CHUNK = 1 << 16


def mcp_recipe(recipe: ArenaRecipe) -> tuple[ArenaRecipe, bool]:
    """The recipe as MCP can play it, and whether the server tells the task.

    With ``environment.user`` "one_request" the server tells it. With another one whoever drives the agent does, and
    nobody plays the user: the words would reach no agent.
    """
    tells = recipe.environment.user == "one_request"
    environment = recipe.environment.model_copy(update={"user": "one_request"})
    return recipe.model_copy(update={"environment": environment}), tells


def mcp_server(seat: Seat, opening: tuple[Message, ...], *, tells_task: bool) -> Server[Any]:
    """A server of the tools of ``seat``, whose episode began with ``opening``.

    The policy is its instructions; with ``tells_task`` the task stands there too, and in the prompt ``task``. Errors of
    tools are results with the flag ``is_error``, and so is whatever goes wrong here.
    """
    told = "\n\n".join(one.content for one in opening if tells_task or not isinstance(one, UserMessage))
    task = "\n\n".join(one.content for one in opening if isinstance(one, UserMessage))

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters)
                for tool in seat.session.tools
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        call = foreign_call("", params.name, params.arguments or {})
        if isinstance(call, MalformedToolCall):
            return _result(f"the call could not be read: {call.reason}", is_error=True)
        try:
            with boundary(SimiaError, f"answer {params.name}"):
                answer = await seat.call(params.name, params.arguments or {})
        except EpisodeMisused:
            return _result("the episode is over: no call is answered any more", is_error=True)
        except SimiaError as error:
            return _result(str(error), is_error=True)
        for message in answer.messages:
            if isinstance(message, ToolMessage):
                return _result(message.content, is_error=message.is_error)
        return _result("the episode is over: the environment could not go on", is_error=True)

    async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name=PROMPT, description="What is to be done.")])

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        said = types.TextContent(type="text", text=task)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])

    prompts: dict[str, Any] = {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt} if tells_task else {}
    return Server(
        "simia", version=__version__, instructions=told, on_list_tools=list_tools, on_call_tool=call_tool, **prompts
    )


async def serve_mcp(seat: Seat, stop: asyncio.Event, *, tells_task: bool) -> None:
    """Start the episode of ``seat`` and serve it until standard input ends, or ``stop`` is set, which cuts it off.

    Raises:
        SimiaError: it could not be started, or judged.
    """
    answer = await seat.start()
    serving = asyncio.create_task(_serve(mcp_server(seat, answer.messages, tells_task=tells_task)))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        is_left = serving.done()
    finally:
        for task in (serving, stopping):
            task.cancel()
        await asyncio.gather(serving, stopping, return_exceptions=True)
    if is_left:
        serving.result()
        if not seat.is_over:
            await seat.say("")  # the one request is answered as far as the agent will
    await seat.leave()


async def _serve(server: Server[Any]) -> None:
    async with stdio_server(stdin=_Lines()) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Lines:
    """The lines of standard input. They are read by a thread that nobody waits for, so that waiting for the next one
    can be given up: the package's own reader cannot be stopped while its client is silent.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="simia-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        rest = b""
        number = sys.stdin.fileno()
        # Not the buffered file: a thread that is blocked in it at the end of the process is fatal.
        while chunk := os.read(number, _CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._put(line.decode("utf-8", "replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
