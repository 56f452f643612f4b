"""The child process as its parent sees it: started, asked within limits of time and size, ended; and why it died."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from simia.worlds.sandbox.child.wire import OUT_OF_MEMORY

# -I would do but for PYTHONHASHSEED, which it ignores; the environment holds nothing else that Python reads. The folder
# is searched last, so that no module of ours stands before one of the standard library.
COMMAND = (
    *("-P", "-s", "-S", "-B", "-W", "ignore", "-c"),
    "import sys; sys.path.append(sys.argv[1]); from child.main import main; main(int(sys.argv[2]), int(sys.argv[3]))",
    str(Path(__file__).parent),
)
# A zone that is spelled out is not looked up in a file.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC0"}
_DYING_S = 5.0
_CHUNK = 1 << 20


class Stopped(Exception):
    """The child ran into ``wall``; the text says with what. It never leaves the sandbox."""

    def __init__(self, wall: str, attempt: str) -> None:
        super().__init__(attempt)
        self.wall = wall


class Child:
    """A child process between two pipes. After :class:`Stopped` nothing can be done with it but to end it.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._folder = tempfile.mkdtemp(prefix="simia-sandbox-")
        its_requests, self._requests = os.pipe()
        self._replies, its_replies = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, *COMMAND, str(its_requests), str(its_replies)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(its_requests, its_replies),
                cwd=self._folder,
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        except OSError:
            self._forget()
            raise
        finally:
            os.close(its_requests)
            os.close(its_replies)
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(self._requests, select.POLLOUT)
        self._readable.register(self._replies, select.POLLIN)
        os.set_blocking(self._requests, False)

    def exchange(self, request: bytes, seconds: float) -> bytes:
        """The one line that answers ``request``.

        Raises:
            Stopped: it does not come in time, is too long or not alone, or the child dies.
        """
        deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError):  # its last word may be in the other pipe
            self._send(request, deadline)
        reply = self._receive(deadline)
        if reply.find(b"\n") != len(reply) - 1:
            raise Stopped("reply", "something in the pipe beside the answer")
        return reply

    def end(self) -> None:
        """Kill it and all that it may have started."""
        # It may be dead, which macOS calls a lack of permission. In a container that forbids root to kill what became
        # another user, it ends with its pipes, or by the limit of its processor time.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._forget()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING_S)

    def _send(self, request: bytes, deadline: float) -> None:
        left = memoryview(request)
        while left:
            try:
                left = left[os.write(self._requests, left) :]
            except BlockingIOError:
                self._wait(self._writable, deadline)

    def _receive(self, deadline: float) -> bytes:
        parts = []
        size = 0
        while True:
            self._wait(self._readable, deadline)
            part = os.read(self._replies, _CHUNK)
            if not part:
                raise self._death()
            size += len(part)
            if size > self._most:
                raise Stopped("output", f"an answer of more than {self._most} bytes")
            parts.append(part)
            if b"\n" in part:
                return b"".join(parts)

    def _wait(self, poll: select.poll, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise Stopped("time", "no answer within the limit")

    def _death(self) -> Stopped:
        """Why the child is gone without a last word."""
        try:
            code = self._process.wait(_DYING_S)
        except subprocess.TimeoutExpired:
            return Stopped("output", "a closed pipe")
        if code == -signal.SIGSYS:
            return Stopped("system calls", "one that Python does not announce")
        if code in (OUT_OF_MEMORY, -signal.SIGKILL):
            return Stopped("memory", "more than there is for it")
        if code < 0:
            return Stopped("native code", f"a crash of the interpreter by {signal.Signals(-code).name}")
        return Stopped("processes", f"an end of its own, with exit code {code}")

    def _forget(self) -> None:
        os.close(self._requests)
        os.close(self._replies)
        shutil.rmtree(self._folder, ignore_errors=True)
