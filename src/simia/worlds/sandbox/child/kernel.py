"""The wall that the kernel holds on Linux: behind it a process can compute, read its requests, write its replies and
end. Any other system call kills it at once, whatever asked for it: Python, ctypes or machine code.

It is a seccomp-BPF program (https://docs.kernel.org/userspace-api/seccomp_filter.html), set by ``prctl`` for x86_64 and
aarch64. Elsewhere, where ctypes is missing, or where a container forbids filters, there is no such wall.

What stays open costs others nothing: memory of its own that is never executable, the time of day, its own process id,
random bytes, waiting for itself.
"""

import platform
import struct
import sys
from collections.abc import Callable

ALLOWED = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "mmap": 9,
        "mprotect": 10,
        "munmap": 11,
        "brk": 12,
        "rt_sigprocmask": 14,
        "rt_sigreturn": 15,
        "sched_yield": 24,
        "mremap": 25,
        "madvise": 28,
        "getpid": 39,
        "exit": 60,
        "gettimeofday": 96,
        "gettid": 186,
        "time": 201,
        "futex": 202,
        "restart_syscall": 219,
        "clock_gettime": 228,
        "clock_getres": 229,
        "exit_group": 231,
        "getrandom": 318,
    },
    "aarch64": {
        "read": 63,
        "write": 64,
        "exit": 93,
        "exit_group": 94,
        "futex": 98,
        "clock_gettime": 113,
        "clock_getres": 114,
        "sched_yield": 124,
        "restart_syscall": 128,
        "rt_sigprocmask": 135,
        "rt_sigreturn": 139,
        "gettimeofday": 169,
        "getpid": 172,
        "gettid": 178,
        "brk": 214,
        "munmap": 215,
        "mremap": 216,
        "mmap": 222,
        "mprotect": 226,
        "madvise": 233,
        "getrandom": 278,
    },
}
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_NO_NEW_PRIVILEGES = 38
_SET_SECCOMP = 22
_FILTER_MODE = 2

_LOAD = 0x20
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06
_KILL = 0x80000000
_ALLOW = 0x7FFF0000

# Where struct seccomp_data holds what is asked for; of each argument the low half, which is where flags and descriptors
# are on both machines. The kernel takes no more than 32 bits of those.
_NUMBER = 0
_MACHINE = 4
_ARGUMENTS = 16
_FIRST_OF_X32 = 0x40000000
_EXECUTABLE = 4
_ANONYMOUS = 0x20

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand. A jump is a number of instructions to leave out."""


def prepared(requests: int, replies: int) -> Callable[[], bool]:
    """What sets the filter for this process for ever, so that reading from the descriptor ``requests`` and writing to
    ``replies`` remain. It opens no file, and says whether the wall stands.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in ALLOWED or sys.byteorder != "little" or sys.maxsize < 2**32:
        return lambda: False
    try:
        import ctypes

        libc = ctypes.CDLL(None)
    except (ImportError, OSError):
        return lambda: False
    instructions = program(machine, requests, replies)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in instructions))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(instructions), ctypes.addressof(code)))
    word = ctypes.c_ulong

    def close() -> bool:
        """Set it, if the kernel lets us; ``code`` must live until then."""
        if code is None or libc.prctl(_NO_NEW_PRIVILEGES, word(1), word(0), word(0), word(0)) != 0:
            return False
        return bool(libc.prctl(_SET_SECCOMP, word(_FILTER_MODE), header, word(0), word(0)) == 0)

    return close


def program(machine: str, requests: int, replies: int) -> list[Instruction]:
    """The filter: one short block a system call, which ends in a verdict or falls through to the next."""
    numbers = ALLOWED[machine]
    found: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _FIRST_OF_X32),
        (_RETURN, 0, 0, _KILL),
    ]
    asked = {
        "read": _only((0, _EQUAL, requests, True)),
        "write": _only((0, _EQUAL, replies, True)),
        "mmap": _only((2, _ANY_BIT, _EXECUTABLE, False), (3, _ANY_BIT, _ANONYMOUS, True)),
        "mprotect": _only((2, _ANY_BIT, _EXECUTABLE, False)),
    }
    for name, number in numbers.items():
        block = asked.get(name, [(_RETURN, 0, 0, _ALLOW)])
        found += [(_EQUAL, 0, len(block), number), *block]
    return [*found, (_RETURN, 0, 0, _KILL)]


def _only(*conditions: tuple[int, int, int, bool]) -> list[Instruction]:
    """Allow where every condition (argument, test, operand, what the test must say) holds, else kill."""
    found: list[Instruction] = []
    for argument, test, operand, wanted in conditions:
        jumps = (1, 0) if wanted else (0, 1)
        found += [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), (test, *jumps, operand), (_RETURN, 0, 0, _KILL)]
    return [*found, (_RETURN, 0, 0, _ALLOW)]
