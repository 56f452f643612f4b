"""A server of OpenEnv on loopback, on a thread of its own."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.serving import Episodes
from simia.environment.settings import EnvironmentSettings
from simia.types import ChatModel

EXECUTED: dict[str, Any] = {"world": "lamps", "tasks": 3, "dynamics": "executable", "user": "one_request"}


class Served:
    """An arena over lamps that is being served."""

    def __init__(self, models: dict[str, ChatModel], sessions: int, **settings: Any) -> None:
        self.arena = Arena(EnvironmentSettings(**EXECUTED | settings), models, world=worlds.load("lamps"))
        self.episodes = Episodes(self.arena)
        self._sessions = sessions
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)

    async def _serve(self) -> None:
        from simia.environment.adapters.openenv import openenv_app, serve_openenv

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        with self._listener:
            await serve_openenv(openenv_app(self.episodes, sessions=self._sessions), self._listener, self._stop)
        await self.episodes.settled()

    def close(self) -> None:
        """Stop serving."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Serves an arena; executable lamps with one request unless other settings are given."""
    running: list[Served] = []

    def start(models: dict[str, ChatModel] | None = None, *, sessions: int = 64, **settings: Any) -> Served:
        running.append(Served(models or {}, sessions, **settings))
        return running[-1]

    yield start
    for served in running:
        served.close()
