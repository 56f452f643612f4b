"""What strange code is kept from, by one attack each; and what honest code may rely on."""

import builtins
import datetime
import json
import os
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia.errors import ConfigError, SandboxViolation
from simia.types import State, ToolCall, Transition, WorldTask, same
from simia.worlds.sandbox import Limits, SandboxedWorld, guard, process
from simia.worlds.sandbox.child import kernel
from simia.worlds.sandbox.child.kept import Kept
from simia.worlds.sandbox.docstrings import split

STRANGE = Path(__file__).parent / "envscaler"
ATTACKS, CODE_OF_A_COUNTER, HONEST, LEAKY, SCHEMAS = (
    (STRANGE / f"{name}.txt").read_text(encoding="utf-8")
    for name in ("attacker", "counter", "honest", "leaky", "schemas")
)
HOME = str(Path("~").expanduser())


def do(world: SandboxedWorld, name: str, state: State | None = None, **arguments: Any) -> tuple[Transition, State]:
    return world.run({} if state is None else state, ToolCall(id="call_1", name=name, arguments=arguments))


def shown(world: SandboxedWorld, name: str, **arguments: Any) -> Any:
    transition, _ = do(world, name, **arguments)
    assert not transition.is_error, transition.observation
    return json.loads(transition.observation)


def world_of(code: str, name: str, **settings: Any) -> SandboxedWorld:
    return SandboxedWorld("strange", code, name, licence="Apache-2.0", **settings)


@pytest.fixture(scope="module")
def attacker() -> Iterator[SandboxedWorld]:
    with world_of(ATTACKS, "Attacker", limits=Limits(memory_mib=160)) as world:
        yield world


@pytest.fixture(scope="module")
def counter() -> Iterator[SandboxedWorld]:
    with world_of(CODE_OF_A_COUNTER, "Counter") as world:
        yield world


@pytest.fixture
def without_seccomp(monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxedWorld]:
    no_filter = "import child.kernel; child.kernel.prepared = lambda *_: lambda: False; from child.main"
    command = tuple(word.replace("from child.main", no_filter) for word in process.COMMAND)
    monkeypatch.setattr(process, "COMMAND", command)
    with world_of(ATTACKS, "Attacker") as world:
        yield world


def stopped(world: SandboxedWorld, name: str, **arguments: Any) -> SandboxViolation:
    """The violation of a call, after which the next call works."""
    with pytest.raises(SandboxViolation) as caught:
        do(world, name, **arguments)
    assert do(world, "add", key="k")[1] == {"rows": {"k": 0}}
    return caught.value


def has_seccomp(world: SandboxedWorld) -> bool:
    return "seccomp" in world.walls


NAMED = [
    ("opens_a_socket", {}, "network", "import socket"),
    ("fetches_a_page", {}, "network", "import urllib.request"),
    ("reads_a_file", {"path": f"{HOME}/.profile"}, "files", f"open '{HOME}/.profile'"),
    ("lists_a_folder", {"path": HOME}, "files", f"os.listdir '{HOME}'"),
    ("looks_whether_a_file_exists", {"path": HOME}, "files", f"os.stat '{HOME}'"),
    ("forks", {}, "processes", "os.fork"),
    ("spawns_a_process", {}, "processes", "import subprocess"),
    ("runs_a_shell", {}, "processes", "os.system"),
    ("finds_a_shell_in_the_classes", {}, "processes", "os.system"),
    ("starts_a_thread", {}, "processes", "threading._start_"),
    ("kills", {"pid": os.getpid()}, "processes", f"os.kill {os.getpid()}"),
    ("kills_its_parent", {}, "processes", "os.getppid"),
    ("ends_its_process", {}, "processes", "exit code 3"),
    ("imports_os", {}, "imports", "import os"),
    ("imports_by_the_real_function", {"module": "pickletools"}, "imports", "import pickletools"),
    ("makes_code_of_bytes", {}, "native code", "code.__new__"),
    ("asks_for_input", {}, "files", "builtins.input"),
]


@pytest.mark.parametrize(("name", "arguments", "wall", "words"), NAMED, ids=[row[0] for row in NAMED])
def test_an_attempt_is_stopped_and_named_and_the_next_call_works(
    attacker: SandboxedWorld, name: str, arguments: dict[str, Any], wall: str, words: str
) -> None:
    violation = stopped(attacker, name, **arguments)
    assert violation.wall == wall
    assert words in str(violation)
    assert f"the call of {name} in the world 'strange'" in str(violation)


def test_a_method_that_loops_forever_is_stopped_by_the_clock() -> None:
    with world_of(ATTACKS, "Attacker", limits=Limits(seconds=0.3)) as world:
        for name in ("loops_forever", "loops_in_c", "catches_everything_and_loops"):
            with pytest.raises(SandboxViolation, match=r"wait longer by Limits\(seconds=") as caught:
                do(world, name)
            assert caught.value.wall == "time"


def test_a_method_that_eats_memory_is_stopped_by_the_limit(attacker: SandboxedWorld) -> None:
    assert stopped(attacker, "eats_memory").wall == "memory"


def test_a_file_that_code_tries_to_write_is_not_there(attacker: SandboxedWorld, tmp_path: Path) -> None:
    assert stopped(attacker, "writes_a_file", path=str(tmp_path / "x")).wall == "files"
    assert list(tmp_path.iterdir()) == []


def test_too_much_on_stdout_is_stopped(attacker: SandboxedWorld) -> None:
    assert stopped(attacker, "prints_forever").wall == "output"


def test_too_large_a_result_is_stopped(attacker: SandboxedWorld) -> None:
    assert stopped(attacker, "gives_too_much").wall == "output"


def test_a_child_that_has_worked_for_long_is_replaced(
    attacker: SandboxedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.loads(do(attacker, "tells_its_number")[0].observation)
    assert json.loads(do(attacker, "tells_its_number")[0].observation) == first
    monkeypatch.setattr(guard, "_PROCESSOR_S", 0)
    assert json.loads(do(attacker, "tells_its_number")[0].observation) != first


@pytest.mark.parametrize("text", ["x\n", '{"id":1,"result":1,"state":{}}\n', "no end of a line", "[" * 5000 + "\n"])
def test_a_forged_answer_is_no_answer(attacker: SandboxedWorld, text: str) -> None:
    assert stopped(attacker, "writes_to_its_pipe", text=text).wall == "reply"


FORGER = """
import typing
sys = typing.sys
def forge(members, times=1):
    frame = sys._getframe()
    while "wire" not in frame.f_locals:
        frame = frame.f_back
    number = frame.f_locals["request"]["id"]
    frame.f_locals["wire"].send(members if members[0] == "{" else '{"id":%d,%s}' % (number, members))
    sys.modules["child.wire"]._exit(0)
class Forger:
    def act(self, members: str):
        forge(members)
    def nest(self, opening: str, closing: str, depth: int):
        forge('"result":1,"state":{"a":%s1%s}' % (opening * depth, closing * depth))
    def fill(self, one: str, times: int):
        forge('"result":1,"state":{"a":[%s]}' % ",".join([one] * times))
    def deepen(self, depth: int):
        self.rows = []
        for _ in range(depth):
            self.rows = [self.rows]
    def add(self, key: str):
        self.rows = {key: 0}
"""


@pytest.fixture(scope="module")
def forger() -> Iterator[SandboxedWorld]:
    with world_of(FORGER, "Forger") as world:
        yield world


def forged(world: SandboxedWorld, name: str, **arguments: Any) -> State:
    """The state that was forged, after which the child has ended itself."""
    _, state = do(world, name, **arguments)
    world.close()
    return state


def stopped_forger(world: SandboxedWorld, name: str, **arguments: Any) -> SandboxViolation:
    with pytest.raises(SandboxViolation) as caught:
        do(world, name, **arguments)
    assert do(world, "add", key="k")[1] == {"rows": {"k": 0}}
    return caught.value


def test_what_is_forged_in_the_right_shape_is_believed(forger: SandboxedWorld) -> None:
    assert forged(forger, "act", members='"result":1,"state":{"a":2}') == {"a": 2}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ('"result":1', "without exactly the keys id, result, state"),
        ('"state":null', "without exactly the keys"),
        ('"result":1,"state":null,"more":1', "without exactly the keys"),
        ('"error":"no","state":{}', "without exactly the keys"),
        ('"tools":[],"state":{}', "without exactly the keys"),
        ('"result":1,"state":[1]', "a state that is no object"),
        ('"result":1,"state":"x"', "a state that is no object"),
        ('"result":NaN,"state":null', "cannot be read"),
        ('"result":1,"state":null,"state":null', "cannot be read"),
        ('"error":{"a":[1]}', "an error that is no short text"),
        ('"error":"%s"' % ("x" * 2001), "an error that is no short text"),
        ('{"id":true,"result":1,"state":null}', "not asked"),
        ('{"id":"1","result":1,"state":null}', "not asked"),
        ('{"result":1,"state":null}', "not asked"),
        ('{"wall":"files","attempt":[1]}', "a wall that there is not"),
        ('{"wall":"files"}', "a wall that there is not"),
        ('{"wall":["files"],"attempt":"x"}', "a wall that there is not"),
        ('{"wall":"time","attempt":"x"}', "a wall that there is not"),
    ],
)
def test_a_forged_answer_of_another_shape_is_stopped(forger: SandboxedWorld, members: str, words: str) -> None:
    violation = stopped_forger(forger, "act", members=members)
    assert violation.wall == "reply"
    assert words in str(violation)
    assert "read the code before you use it again" in str(violation)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_an_answer_that_is_nested_too_deeply_is_stopped(forger: SandboxedWorld, opening: str, closing: str) -> None:
    state = forged(forger, "nest", opening=opening, closing=closing, depth=126)
    assert len(json.dumps(state, separators=(",", ":"))) == 126 * len(opening + closing) + len('{"a":1}')
    for depth in (127, 900):
        violation = stopped_forger(forger, "nest", opening=opening, closing=closing, depth=depth)
        assert (violation.wall, "more than 128 deep" in str(violation)) == ("output", True)


def test_a_deep_attempt_is_not_told(forger: SandboxedWorld) -> None:
    members = '{"wall":"files","attempt":' + "[" * 900 + "]" * 900 + "}"
    assert stopped_forger(forger, "act", members=members).wall == "output"


def test_an_honest_state_that_is_too_deep_is_stopped_too(forger: SandboxedWorld) -> None:
    assert do(forger, "deepen", depth=100)[0].observation == "null"
    assert stopped_forger(forger, "deepen", depth=200).wall == "output"


def test_an_answer_of_too_many_values_is_stopped_before_it_is_read() -> None:
    with world_of(FORGER, "Forger", limits=Limits(reply_mib=1)) as world:
        assert len(forged(world, "fill", one="{}", times=32_000)["a"]) == 32_000
        violation = stopped_forger(world, "fill", one="{}", times=33_000)
        assert (violation.wall, "more than 65536 values" in str(violation)) == ("output", True)
        assert "Limits(reply_mib=...)" in str(violation)


def forging(members: str) -> str:
    """Code that forges the answer to what the class is."""
    return f"{FORGER}\nforge({members!r})"


def tool_of(**parts: Any) -> str:
    properties = parts.pop("properties", {})
    parameters = {"type": "object", "properties": properties}
    return json.dumps([{"name": "x", "doc": "Args:\n  a: b", "parameters": parameters, **parts}])


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ("1", "1 is not of type"),
        ("[1]", "1 is not of type"),
        ("[{}]", "required"),
        (tool_of(name=1), "0/name"),
        (tool_of(doc=None), "0/doc"),
        (tool_of(more=1), "'more'"),
        (tool_of(parameters=[]), "0/parameters"),
        (tool_of(parameters={}), "required"),
        (tool_of(properties=[]), "0/parameters/properties"),
        (tool_of(properties={"a": 1}), "0/parameters/properties/a"),
        (tool_of(properties={"a": {"$ref": "file:///etc/hostname"}}), "'$ref'"),
        (tool_of(properties={"a": {"pattern": "(a+)+$"}}), "'pattern'"),
        (tool_of(properties={"a": {"items": {"items": 7}}}), "a/items/items"),
        (json.dumps(json.loads(tool_of()) * 1001), "more than 1000 items"),
    ],
)
def test_forged_tools_are_stopped(tools: str, words: str) -> None:
    with pytest.raises(SandboxViolation, match="loading the class in the world 'strange' was stopped") as caught:
        world_of(forging(f'"tools":{tools},"state":{{}}'), "Forger")
    assert caught.value.wall == "reply"
    assert words in str(caught.value).replace('"', "'")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("state", ["null", "[1]", "1"])
def test_a_forged_state_of_a_new_instance_is_stopped(state: str) -> None:
    with pytest.raises(SandboxViolation, match="a state that is no object"):
        world_of(forging(f'"tools":[],"state":{state}'), "Forger")


def test_forged_tools_of_the_right_shape_that_are_no_schema_are_refused() -> None:
    tools = tool_of(properties={"a": {"type": "klingon"}})
    with pytest.raises(ConfigError, match="are no tools"):
        world_of(forging(f'"tools":{tools},"state":{{}}'), "Forger")


def test_what_code_prints_does_not_break_the_protocol(attacker: SandboxedWorld) -> None:
    assert do(attacker, "prints", text='{"id":1}\n', times=10)[0].observation == "printed"
    assert do(attacker, "reads_past_the_end_of_stdin")[0].observation == ""


def test_ctypes_is_found_in_vain(attacker: SandboxedWorld) -> None:
    assert stopped(attacker, "loads_a_library_by_ctypes").wall == "native code"


@pytest.mark.parametrize("then", ["open", "fork", "kill", "id"])
def test_where_the_hook_is_disarmed_the_wall_of_the_kernel_stands(attacker: SandboxedWorld, then: str) -> None:
    if not has_seccomp(attacker):
        pytest.skip("seccomp is not to be had here")
    assert stopped(attacker, "disarms_the_hook", then=then).wall == "system calls"


def test_what_python_does_not_announce_is_stopped_by_the_kernel(attacker: SandboxedWorld) -> None:
    if not has_seccomp(attacker):
        pytest.skip("seccomp is not to be had here")
    assert stopped(attacker, "writes_to_another_descriptor").wall == "system calls"


def test_deep_recursion_is_an_error_of_the_method(attacker: SandboxedWorld) -> None:
    transition, state = do(attacker, "recurses", {"rows": {"a": 1}})
    assert transition.is_error
    assert "RecursionError: maximum recursion depth" in transition.observation
    assert state == {"rows": {"a": 1}}


def test_a_crash_of_the_interpreter_is_reported(attacker: SandboxedWorld) -> None:
    assert stopped(attacker, "recurses_in_c").wall in ("native code", "memory")


def test_an_exception_is_an_error_that_names_it_and_changes_nothing(attacker: SandboxedWorld) -> None:
    transition, state = do(attacker, "raises", key="k")
    assert transition.observation == """{"error":"KeyError: 'k'"}"""
    assert transition.is_error
    assert transition.delta is not None
    assert transition.delta.size == 0
    assert state == {}
    assert do(attacker, "exits")[0].observation == '{"error":"SystemExit: bye"}'
    assert do(attacker, "raises_what_cannot_be_shown")[0].observation == '{"error":"Odd"}'


@pytest.mark.parametrize(
    ("name", "arguments", "wall"),
    [
        ("reads_a_file", {"path": "/etc/passwd"}, "files"),
        ("opens_a_socket", {}, "network"),
        ("runs_a_shell", {}, "processes"),
        ("loads_a_library_by_ctypes", {}, "native code"),
    ],
)
def test_without_seccomp_the_hook_stops_what_it_knows(
    without_seccomp: SandboxedWorld, name: str, arguments: dict[str, Any], wall: str
) -> None:
    assert without_seccomp.walls == ("time limit", "reply limit", "resource limits", "audit hook", "ordinary user")
    if name.startswith("loads"):  # then nothing loads ctypes
        assert do(without_seccomp, name)[0].observation == "null"
    else:
        assert stopped(without_seccomp, name, **arguments).wall == wall


def test_without_seccomp_and_with_a_disarmed_hook_the_limits_stand(without_seccomp: SandboxedWorld) -> None:
    assert "Too many open files" in do(without_seccomp, "disarms_the_hook", then="open")[0].observation
    assert "BlockingIOError" in do(without_seccomp, "disarms_the_hook", then="fork")[0].observation


def test_nothing_of_the_module_runs_in_our_process() -> None:
    code = (
        "import typing\n"
        "class Marker:\n"
        "    typing.sys.modules['simia_was_here'] = typing\n"
        "    print.__self__.simia_was_here = True\n"
        "    def pid(self):\n"
        "        return (typing.sys.modules['os'].getpid(), 'simia_was_here' in typing.sys.modules)\n"
    )
    with world_of(code, "Marker") as world:
        pid, marked = shown(world, "pid")
    assert marked
    assert pid != os.getpid()
    assert not hasattr(builtins, "simia_was_here")
    assert "simia_was_here" not in sys.modules


@pytest.mark.parametrize(
    ("body", "wall"), [("import socket", "network"), ("while True: pass", "time"), ("open('/etc/passwd')", "files")]
)
def test_a_module_that_attacks_when_it_is_loaded_is_stopped(body: str, wall: str) -> None:
    code = f"{body}\nclass One:\n    def act(self): ...\n"
    with pytest.raises(SandboxViolation, match="loading the class") as caught:
        world_of(code, "One", limits=Limits(seconds=0.3))
    assert caught.value.wall == wall


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "class One:\n    def __init__(self):\n        raise ValueError('no')\n    def act(self): ...",
            "ValueError: no",
        ),
        ("class One:\n    def __init__(self, a, b): ...\n    def act(self): ...", "TypeError"),
        ("class One: ...", "no public method"),
        ("class Other:\n    def act(self): ...", "has no class 'One'; it has Other"),
        ("class One:\n  def act(self):\nx", "is no Python: expected an indented block"),
        ("class One:\n    return 1", "SyntaxError"),
        ("(" * 5000, "is no Python"),
        ("-" * 100_000 + "1", "is no Python"),
        ("x = 1\0", "is no Python"),
        ("1 / 0\nclass One:\n    def act(self): ...", "ZeroDivisionError"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_the_reason(code: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        world_of(code, "One")
    assert words in str(caught.value)


def test_a_call_is_a_function_of_state_and_call(counter: SandboxedWorld) -> None:
    first = shown(counter, "draw", key="x")
    assert shown(counter, "draw", key="x") == first
    counter.close()
    assert shown(counter, "draw", key="x") == first
    other = shown(counter, "draw", key="y")
    assert all(one != another for one, another in zip(first, other, strict=True))
    assert json.loads(do(counter, "draw", {"rows": {"a": 1}}, key="x")[0].observation) != first


def test_the_order_of_the_keys_of_a_state_draws_nothing(counter: SandboxedWorld) -> None:
    one, other = {"rows": {"a": 1, "b": 2}, "tags": []}, {"tags": [], "rows": {"b": 2, "a": 1}}
    assert do(counter, "draw", one, key="x")[0] == do(counter, "draw", other, key="x")[0]


def test_nothing_is_kept_from_call_to_call(counter: SandboxedWorld) -> None:
    assert [shown(counter, "count") for _ in range(3)] == [{"made": 1, "seen": 1}] * 3


@pytest.mark.parametrize("is_kept", [True, False])
def test_whatever_outlives_an_instance_is_new_in_each_call(is_kept: bool) -> None:
    code = "\n".join(
        line
        for line in LEAKY.splitlines()
        if not is_kept or not line.startswith(("NUMBERS", "GENERATOR", "@functools"))
    )
    places = [line.split('"')[1] for line in code.splitlines() if "if where ==" in line]
    assert len(places) == 13
    with world_of(code, "Leaky") as world:
        drawn = shown(world, "drawn")
        for where in places[:10] if is_kept else places:
            assert len({do(world, "leak", where=where)[0].observation for _ in range(3)}) == 1, where
            assert shown(world, "drawn") == drawn
        assert shown(world, "leak", where="list") == 1


def test_a_module_is_executed_again_only_if_something_of_it_changed() -> None:
    def executed(code: str) -> Kept:
        namespace: dict[str, Any] = {"__name__": "environment"}
        exec(code, namespace)
        kept = Kept(namespace)
        if kept.is_possible:
            assert kept.holds()
            exec("One().act()", namespace)
        return kept

    plain = "LIMITS = {'a': [1, 2]}\nclass One:\n    SIZE = 3\n    def act(self, x=(1, 2)):\n        return LIMITS"
    assert executed(plain).holds()
    assert not executed(f"{plain}.popitem()").holds()
    assert not executed(plain.replace("return LIMITS", "One.SIZE = 4")).holds()
    assert not executed(f"import random\nDRAWS = random.Random(1)\n{plain}").is_possible


def test_the_clock_stands_still_where_it_was_set() -> None:
    now = datetime.datetime(2023, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    with world_of(CODE_OF_A_COUNTER, "Counter", now=now.timestamp()) as world:
        assert shown(world, "clock") == [
            now.timestamp(),
            "2023-05-06",
            "2023-05-06T07:08:09",
            "datetime.date(2023, 5, 6)",
            True,
            "2023-05-06T07:08:09+00:00",
            "2024-02-29T00:00:00",
            True,
            True,
            7,
        ]


def test_containers_that_json_lacks_stay_what_the_constructor_made(counter: SandboxedWorld) -> None:
    _, state = do(counter, "keep", tag="b")
    assert state == {"tags": ["b"], "log": ["b"], "index": {"b": [1]}}
    transition, state = do(counter, "keep", state, tag="a")
    assert transition.observation == '{"success":true,"tags":["a","b"]}'
    assert state == {"tags": ["a", "b"], "log": ["a", "b"], "index": {"b": [1], "a": [2]}}


def test_an_attribute_that_only_the_constructor_set_is_no_change(counter: SandboxedWorld) -> None:
    transition, state = do(counter, "count", {"rows": {"a": 1}})
    assert transition.delta is not None
    assert transition.delta.size == 0
    assert state == {"rows": {"a": 1}}
    assert list(counter.initial_states()) == [{"rows": {}, "tags": [], "log": [], "index": {}}]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("set", "the state.rows.x is a set"),
        ("key", "the key 1 in the state.rows.x is no text"),
        ("nan", "the state.rows.x is nan"),
        ("bytes", "the state.rows.x is a bytes"),
    ],
)
def test_a_state_without_json_is_an_error_that_changes_nothing(counter: SandboxedWorld, what: str, words: str) -> None:
    transition, state = do(counter, "leave", {"rows": {"x": 0}}, what=what)
    assert transition.is_error
    assert words in transition.observation
    assert state == {"rows": {"x": 0}}


def test_honest_code_may_use_what_the_standard_library_computes() -> None:
    with world_of(f"from __future__ import annotations\n{HONEST}", "Honest") as world:
        first = shown(world, "uses_the_library")
        assert shown(world, "uses_the_library") == first
    assert first[:7] == [True, "unknown encoding: klingon", "SyntaxError", "0.33333", {"x": 1, "y": 0.0}, [1], 2]


def test_a_tuple_becomes_a_list(counter: SandboxedWorld) -> None:
    assert do(counter, "leave", what="tuple")[1] == {"rows": {"x": [1, 2]}}


@pytest.mark.parametrize(
    ("what", "observation", "is_error"),
    [
        ("text", "plain text", False),
        ("none", "null", False),
        ("tuple", "[1,2]", False),
        ("big", str(2**70), False),
        ("no error", '{"success":true,"error":null}', False),
        ("failed", '{"success":false,"error":"no"}', True),
        ("error", '{"error":"no"}', True),
        ("set", '{"error":"the result has no JSON: the result is a set"}', True),
        ("object", '{"error":"the result has no JSON: the result is a object"}', True),
        ("nan", '{"error":"the result has no JSON: the result is nan"}', True),
        ("half", '{"error":"the result has no JSON: UnicodeEncodeError"}', True),
        ("circle", '{"error":"the result has no JSON: ValueError"}', True),
    ],
)
def test_a_result_is_shown_as_text_or_as_json(
    counter: SandboxedWorld, what: str, observation: str, is_error: bool
) -> None:
    transition, _ = do(counter, "give", what=what)
    assert (transition.observation, transition.is_error) == (observation, is_error)


def test_a_method_that_refuses_changes_nothing(counter: SandboxedWorld) -> None:
    transition, state = do(counter, "change_and_refuse", {"rows": {}})
    assert transition.is_error
    assert transition.delta is not None
    assert transition.delta.size == 0
    assert state == {"rows": {}}


def test_a_call_that_does_not_fit_is_refused_before_anything_runs(counter: SandboxedWorld) -> None:
    assert "invalid arguments for draw" in do(counter, "draw", key=1)[0].observation
    assert "unknown tool '__init__'" in do(counter, "__init__")[0].observation


def test_the_delta_leads_to_the_state_after_and_the_state_stays_as_it_is(attacker: SandboxedWorld) -> None:
    before: State = {"rows": {"a": 0}, "other": {"b": [1, {"c": 2.5}]}}
    kept = json.loads(json.dumps(before))
    transition, after = do(attacker, "add", before, key="k")
    assert before == kept
    assert transition.delta is not None
    assert same(transition.delta.apply(before), after)
    assert after["rows"] == {"a": 0, "k": 1}


def test_threads_that_share_a_world_get_their_own_answers(attacker: SandboxedWorld) -> None:
    found: dict[str, str] = {}

    def ask(key: str) -> None:
        found[key] = json.loads(do(attacker, "add", key=key)[0].observation)["data"]

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {str(number): str(number) for number in range(20)}


def test_a_world_that_was_closed_can_be_used_again(attacker: SandboxedWorld) -> None:
    attacker.close()
    attacker.close()
    assert do(attacker, "add", key="k")[1] == {"rows": {"k": 0}}


def test_nobody_can_tell_whether_a_task_without_a_goal_is_reached(counter: SandboxedWorld) -> None:
    task = WorldTask(id="t", instruction="do it", initial_state={}, gold=())
    with pytest.raises(ConfigError, match="has no goal"):
        counter.reached(task, ())


def test_schemas_are_read_off_the_annotations() -> None:
    with world_of(SCHEMAS, "World") as world:
        tools = {tool.name: tool.parameters for tool in world.spec.tools}
    assert list(tools) == ["from_base", "many", "kinds", "nested", "open", "static", "of_class"]
    # "i" names what does not exist, so that no annotation of the method can be resolved.
    assert set(map(str, tools["kinds"]["properties"].values())) == {"{}"}
    assert tools["many"]["required"] == ["a", "b"]
    assert tools["many"]["properties"] == {
        "a": {},
        "b": {"type": "integer"},
        "c": {"type": "number", "default": 1.5},
        "d": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "e": {"type": ["string", "null"]},
        "f": {"type": ["integer", "string", "null"], "default": 3},
    }
    assert tools["nested"]["properties"]["rows"] == {"type": "array", "items": {"type": "integer"}, "default": []}
    row = tools["nested"]["properties"]["row"]
    assert row["required"] == ["inner", "name"]
    assert row["properties"]["inner"]["properties"]["name"] == {"type": "string"}
    assert tools["open"]["additionalProperties"] is True
    assert tools["static"]["required"] == tools["of_class"]["required"] == ["a"]


def test_schemas_of_the_less_common_kinds() -> None:
    code = SCHEMAS.replace("from __future__ import annotations", "").replace('"Unknown"', "object")
    with world_of(code.replace("inner: Row", "inner: dict"), "World") as world:
        properties = world.spec.tool["kinds"].parameters["properties"]
    assert properties == {
        "a": {"type": "object", "additionalProperties": {"type": "integer"}},
        "b": {"type": "object"},
        "c": {"type": "array", "items": {"type": "integer"}},
        "d": {"enum": ["x", 1]},
        "e": {"enum": ["red"]},
        "f": {},
        "g": {},
        "h": {},
        "i": {},
        "j": {"type": "array", "items": {"type": "boolean"}},
        "k": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "l": {},
    }


def test_a_docstring_is_told_apart() -> None:
    text = (
        "Do it.\n\nArgs:\n    a (Dict[str, int]): the first,\n        at length\n    b: the second\n\n"
        "Returns:\n    dict: it"
    )
    assert split(text, ("a", "b")) == (
        "Do it.\n\nReturns:\n    dict: it",
        {"a": "the first, at length", "b": "the second"},
    )
    assert split("Do it.\n\nArgs:\n    of_another: x", ("a",)) == ("Do it.\n\nArgs:\n    of_another: x", {})
    assert split(":param str a: the first", ("a",)) == ("", {"a": "the first"})
    assert split(f":param a{' ' * 50_000}", ("a",)) == (":param a", {})


def test_the_source_of_a_tool_is_shown_with_what_it_uses() -> None:
    code = (
        "import math\nRATE = 2\nUNUSED = 3\ndef twice(x):\n    return x * RATE\n"
        "class One:\n    CAP = 5\n"
        "    def _inner(self, x: 'UNUSED') -> 'UNUSED':\n        return min(self.CAP, twice(x))\n"
        "    @staticmethod\n    def other():\n        return 1\n"
        "    def act(self, x):\n        '''Act.'''\n        return self._inner(x) + One.other() + math.pi\n"
    )
    with world_of(code, "One") as world:
        source = world.source_of("act")
    assert source is not None
    note, *parts = source.split("\n\n")
    assert all(line.startswith("# ") for line in note.splitlines())
    assert parts[-1].startswith("def act(self, x):\n    '''Act.'''")
    assert set(parts[:-1]) == {
        "RATE = 2",
        "def twice(x):\n    return x * RATE",
        "CAP = 5",
        "def _inner(self, x: 'UNUSED') -> 'UNUSED':\n    return min(self.CAP, twice(x))",
        "@staticmethod\ndef other():\n    return 1",
    }
    assert parts.index("RATE = 2") < parts.index("def twice(x):\n    return x * RATE")


def test_the_source_of_a_tool_has_its_bases_and_what_only_the_constructor_sets() -> None:
    code = (
        "class Base:\n    def _fee(self):\n        return self.fee\n    def _same(self):\n        return 1\n"
        "class One(Base):\n    def __init__(self):\n        self.fee = 5\n    def _same(self):\n        return 2\n"
        "    def price(self):\n        return self._fee() + self._same()\n"
    )
    with world_of(code, "One") as world:
        source = world.source_of("price") or ""
    assert "self.fee = 5" in source
    assert "return self.fee" in source
    assert "return 2" in source
    assert "return 1" not in source


def test_a_tool_that_draws_or_looks_at_a_clock_cannot_be_foretold() -> None:
    code = (
        "import random, uuid\nimport datetime as dt\nfrom datetime import datetime\nfrom random import choice\n"
        "def drawn():\n    return random.random()\n"
        "class One:\n"
        "    def a(self):\n        return drawn()\n"
        "    def b(self):\n        return str(uuid.uuid4())\n"
        "    def c(self):\n        return dt.datetime.now().isoformat()\n"
        "    def d(self):\n        return datetime.today().isoformat()\n"
        "    def e(self):\n        return choice([1, 2])\n"
        "    def f(self):\n        return str(uuid.UUID(int=1)) + datetime(2025, 1, 1).isoformat()\n"
        "    def g(self):\n        return self.b()\n"
    )
    with world_of(code, "One") as world:
        assert [tool.name for tool in world.spec.tools if world.is_foretellable(tool.name)] == ["f"]


def test_a_name_that_only_functions_share_is_as_it_was_at_the_next_call() -> None:
    code = (
        "import calendar\n"
        "def _made():\n    n = 0\n    def following():\n        nonlocal n\n        n += 1\n        return n\n"
        "    return following\n"
        "following = _made()\n"
        "class One:\n"
        "    def take(self):\n        return following()\n"
        "    def first_day(self):\n        before = calendar.firstweekday()\n        calendar.setfirstweekday(6)\n"
        "        return before\n"
    )
    with world_of(code, "One") as world:
        assert [shown(world, "take") for _ in range(3)] == [1, 1, 1]
        assert [shown(world, "first_day") for _ in range(2)] == [0, 0]


def verdict(program: list[kernel.Instruction], machine: int, number: int, *arguments: int) -> int:
    """What the kernel would say: an interpreter of the few instructions that the filter has."""
    data = struct.pack("<IIQ6Q", number, machine, 0, *arguments, *[0] * (6 - len(arguments)))
    place = loaded = 0
    while True:
        code, if_true, if_false, operand = program[place]
        place += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", data, operand)
        else:
            holds = {0x15: loaded == operand, 0x35: loaded >= operand, 0x45: bool(loaded & operand)}[code]
            place += if_true if holds else if_false


@pytest.mark.parametrize(
    ("machine", "architecture", "read", "write", "mmap", "mprotect", "openat", "socket"),
    [("x86_64", 0xC000003E, 0, 1, 9, 10, 257, 41), ("aarch64", 0xC00000B7, 63, 64, 222, 226, 56, 198)],
)
def test_the_filter_allows_computing_and_its_two_pipes(
    machine: str, architecture: int, read: int, write: int, mmap: int, mprotect: int, openat: int, socket: int
) -> None:
    program = kernel.program(machine, 7, 8)
    allow, kill = 0x7FFF0000, 0x80000000

    def says(number: int, *arguments: int, of: int = architecture) -> int:
        return verdict(program, of, number, *arguments)

    assert says(read, 7) == says(write, 8) == allow
    assert says(read, 8) == says(read, 0) == says(write, 1) == says(write, 7) == kill
    assert says(mmap, 0, 4096, 3, 0x22) == says(mprotect, 0, 4096, 3) == allow
    assert says(mmap, 0, 4096, 7, 0x22) == says(mmap, 0, 4096, 3, 0x02) == says(mprotect, 0, 4096, 4) == kill
    assert says(openat) == says(socket) == says(read, 7, of=0x40000003) == says(read | 0x40000000, 7) == kill
    assert {number for number in range(500) if says(number) == allow} <= {
        number for names in kernel.ALLOWED.values() for number in names.values()
    }
