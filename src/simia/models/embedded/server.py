"""The child process around llama.cpp: ``python -m simia.models.embedded.server``. Nothing else imports ``xllamacpp``.

It reads one line of JSON from stdin: ``gguf``, ``alias``, ``slots``, ``context`` (tokens per slot), ``threads``,
``api_key``; loads the model; and writes one line of JSON to stdout: ``url`` and ``slot_folder``. It then serves until
stdin ends. The end of stdin, and not a signal, is what ties it to its parent: that also comes when the parent is
killed with -9.

Why a process of its own: a crash of native code kills no run; ``GOMP_SPINCOUNT`` must be in the environment before
libgomp loads; and another user's process on the machine must not slow the program down (see ``launch``).
"""

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack
from typing import Any, NoReturn

# One look a second: fast enough to die with the parent where a fork of it holds the pipe open.
_LOOK_S = 1.0
# The state of prompts that lost their slot, kept in memory. The runtime's own default of 8 GiB is more than many
# machines have.
_PROMPT_CACHE_MIB = 1024
# llama.cpp's verbosity for "errors only"; below it a model that cannot be loaded gives no reason.
_ERRORS_ONLY = 1


def main() -> None:
    """Serve until stdin ends."""
    options = json.loads(sys.stdin.readline())
    ready = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # native code prints to stdout, which belongs to the protocol
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us in its own time
    slot_folder = tempfile.mkdtemp(prefix="simia-slots-")
    signal.signal(signal.SIGTERM, lambda *_: _leave(slot_folder))
    threading.Thread(target=_leave_with_parent, args=(slot_folder, os.getppid()), daemon=True).start()
    with ExitStack() as undone:
        undone.callback(shutil.rmtree, slot_folder, ignore_errors=True)
        server = _load(options, slot_folder)
        undone.pop_all()
    json.dump({"url": server.listening_address, "slot_folder": slot_folder}, ready)
    ready.write("\n")
    ready.close()
    threading.Event().wait()


def _load(options: dict[str, Any], slot_folder: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options["gguf"]
    params.model_alias = {options["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["api_key"]]
    params.n_parallel = options["slots"]
    params.n_ctx = options["slots"] * options["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.slot_save_path = os.path.join(slot_folder, "")
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.verbosity = _ERRORS_ONLY
    # On a CPU, flash attention halves what SmolLM2 decodes after 4,800 tokens (15 against 29 tokens per CPU second),
    # for 15 % of prefill; a 1.5B model does not care.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.fit_params = False  # never change the context behind the caller's back
    params.warmup = False
    params.ui = False
    params.offline = True
    return xllamacpp.Server(params)


def _leave_with_parent(slot_folder: str, parent: int) -> None:
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], _LOOK_S)
        if readable and not os.read(0, 4096):
            break
    _leave(slot_folder)


def _leave(slot_folder: str) -> NoReturn:
    shutil.rmtree(slot_folder, ignore_errors=True)
    os._exit(0)  # the native threads cannot be joined in the middle of a batch


if __name__ == "__main__":
    main()
