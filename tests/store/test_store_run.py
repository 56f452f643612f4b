"""Opening a run folder, and being refused."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import orjson
import pytest

from simia.errors import CorruptStream, ManifestMismatch, RunLocked, StoreError
from simia.store import Manifest, Run, is_locked
from simia.types import ChatReply, Dropped, Kept, ToolSpec, Usage, WorldSpec


def _world(name: str) -> WorldSpec:
    tool = ToolSpec(name="look", parameters={"type": "object"})
    return WorldSpec(name=name, policy="Be kind.", tools=(tool,), licence="Apache-2.0")


def test_a_new_run_keeps_its_manifest(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path / "run", manifest).close()
    with Run.read(tmp_path / "run") as run:
        assert run.manifest == manifest


def test_creating_over_a_run_says_to_resume_or_go_elsewhere(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    with pytest.raises(StoreError, match=r"holds a run already.*--resume.*--run"):
        Run.create(tmp_path, manifest)


def test_creating_where_streams_lost_their_manifest_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "streams").mkdir()
    with pytest.raises(StoreError, match=r"parts of a run but no run\.json"):
        Run.create(tmp_path, manifest)


def test_resuming_where_no_run_is_says_so(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(StoreError, match=r"holds no run.*--resume"):
        Run.resume(tmp_path, manifest)


def test_a_refused_resume_leaves_no_trace(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(StoreError):
        Run.resume(tmp_path / "nowhere", manifest)
    assert not (tmp_path / "nowhere").exists()


def test_resuming_with_another_configuration_names_the_keys(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    other = manifest.model_copy(update={"model": "n"})
    with pytest.raises(ManifestMismatch, match=r'model: was "m", now "n"') as caught:
        Run.resume(tmp_path, other)
    assert caught.value.keys == ("model",)


def test_a_free_key_of_the_configuration_is_written_down_as_it_is_now(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    other = manifest.model_copy(update={"config": {**manifest.config, "seed": 2}, "created": "later"})
    Run.resume(tmp_path, other, free=("config.seed",)).close()
    with Run.read(tmp_path) as run:
        assert run.manifest == manifest.model_copy(update={"config": other.config})


def test_checking_a_run_changes_nothing(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    before = (tmp_path / "run.json").read_bytes()
    other = manifest.model_copy(update={"config": {**manifest.config, "seed": 2}})
    assert Run.check(tmp_path, other, free=("config.seed",)) == manifest
    with pytest.raises(ManifestMismatch):
        Run.check(tmp_path, other)
    assert (tmp_path / "run.json").read_bytes() == before


def test_a_run_in_vain_leaves_nothing(tmp_path: Path, manifest: Manifest) -> None:
    run = Run.create(tmp_path / "run", manifest)
    run.worlds.put(_world("shop"))
    asyncio.run(run.stream("prefilter").append(0, "a", Dropped("unknown_tool", "look")))
    run.save_meter({"requests": 0})
    run.discard()
    assert not (tmp_path / "run").exists()


def test_discarding_a_run_leaves_what_is_not_its_own(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    Run.create(tmp_path, manifest).discard()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_what_was_made_for_a_run_goes_with_it(tmp_path: Path, manifest: Manifest) -> None:
    run = Run.create(tmp_path / "run", manifest)
    (tmp_path / "run/agent/parts").mkdir(parents=True)
    (tmp_path / "run/agent/parts/weights").write_text("1")
    (tmp_path / "run/curves.csv").write_text("step")
    run.discard(also=("agent", "curves.csv", "never-made"))
    assert not (tmp_path / "run").exists()


def test_a_paid_reply_is_never_discarded(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        asyncio.run(run.replies.put("a" * 64, ChatReply(text="hello", model="m")))
        with pytest.raises(StoreError, match="holds what was paid for"):
            run.discard()
    assert (tmp_path / "run.json").exists()


def test_a_refused_run_is_not_locked(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    with pytest.raises(ManifestMismatch):
        Run.resume(tmp_path, manifest.model_copy(update={"model": "n"}))
    Run.resume(tmp_path, manifest).close()


def test_two_writers_are_refused_and_the_first_is_named(tmp_path: Path, manifest: Manifest) -> None:
    with (
        Run.create(tmp_path, manifest),
        pytest.raises(RunLocked, match=f"process {os.getpid()} on {socket.gethostname()}"),
    ):
        Run.resume(tmp_path, manifest)


def test_a_dead_writer_holds_nothing(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    program = (
        "import os, sys; from pathlib import Path; from simia.store import Manifest, Run;"
        "m = Manifest.model_validate_json(sys.argv[2]); run = Run.resume(Path(sys.argv[1]), m);"
        "os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path), manifest.model_dump_json()], check=False)
    assert ended.returncode == -9
    Run.resume(tmp_path, manifest).close()


def test_a_look_at_the_lock_keeps_nobody_from_taking_it(tmp_path: Path, manifest: Manifest) -> None:
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_locked(tmp_path)

    Run.create(tmp_path, manifest).close()
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(50):
            Run.resume(tmp_path, manifest).close()
    finally:
        over.set()
        watcher.join()


def test_readers_need_no_lock(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as writer:
        asyncio.run(writer.stream("s").append(0, "a", Kept(Usage())))
        with Run.read(tmp_path) as reader:
            assert reader.stream("s").counts().kept == 1


def test_a_reader_cannot_write(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    with Run.read(tmp_path) as run:
        with pytest.raises(StoreError, match="not open for writing"):
            asyncio.run(run.stream("s").append(0, "a", Dropped("r", "")))
        with pytest.raises(StoreError, match="opened for reading"):
            run.restart_stream("s")
        with pytest.raises(StoreError, match="opened for reading"):
            run.save_meter({})


def test_a_reader_changes_nothing(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        asyncio.run(run.stream("s").append(0, "a", Kept(Usage())))
    path = tmp_path / "streams" / "s.jsonl"
    path.write_bytes(path.read_bytes() + b'{"n":1,"ke')
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with Run.read(tmp_path) as run:
        assert run.stream("s").counts().seen == 1
        assert run.stream("other").counts().seen == 0
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_manifest_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"run": "x"}')
    with pytest.raises(CorruptStream, match=r"run\.json is no manifest"):
        Run.read(tmp_path)


def test_the_streams_on_disk_are_listed(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        run.stream("generate")
        run.stream("check")
        assert run.stream_names() == ("check", "generate")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b"])
def test_a_stream_name_stays_in_the_folder(tmp_path: Path, manifest: Manifest, name: str) -> None:
    with Run.create(tmp_path, manifest) as run, pytest.raises(StoreError, match="cannot be called"):
        run.stream(name)


def test_the_meter_survives_the_end_of_the_process(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        assert run.load_meter() is None
        run.save_meter({"requests": 1})
        run.save_meter({"requests": 2})
        assert run.load_meter() == {"requests": 2}
    with Run.resume(tmp_path, manifest) as run:
        assert run.load_meter() == {"requests": 2}


def test_a_broken_meter_says_what_to_do(tmp_path: Path, manifest: Manifest) -> None:
    Run.create(tmp_path, manifest).close()
    (tmp_path / "meter.json").write_bytes(b"{")
    with Run.resume(tmp_path, manifest) as run, pytest.raises(CorruptStream, match="remove it"):
        run.load_meter()


def test_a_world_is_kept_once(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        first, again, other = run.worlds.put(_world("a")), run.worlds.put(_world("a")), run.worlds.put(_world("b"))
    assert first == again == _world("a").content_id
    with Run.resume(tmp_path, manifest) as run:
        assert run.worlds.put(_world("a")) == first
        assert run.worlds.get(other) == _world("b")
        assert [name for name, _ in run.worlds] == [first, other]


def test_a_world_that_is_not_there_is_named(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run, pytest.raises(CorruptStream, match="holds no world abc"):
        run.worlds.get("abc")


def test_a_reply_is_found_at_once_and_after_resume(tmp_path: Path, manifest: Manifest) -> None:
    reply = ChatReply(text='{"a": "\u2028 \\" \n"}', model="m", reasoning="hm", usage=Usage(prompt_tokens=3))
    with Run.create(tmp_path, manifest) as run:
        assert run.replies.get("r1") is None
        asyncio.run(run.replies.put("r1", reply))
        assert run.replies.get("r1") == reply
    with Run.resume(tmp_path, manifest) as run:
        assert run.replies.get("r1") == reply
        assert run.replies.get("r2") is None


def test_the_first_reply_to_a_request_stays(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        asyncio.run(run.replies.put("r", ChatReply(text="first", model="m")))
        asyncio.run(run.replies.put("r", ChatReply(text="second", model="m")))
        assert [reply.text for _, reply in run.replies] == ["first"]


def test_replies_longer_than_a_read_are_whole(tmp_path: Path, manifest: Manifest) -> None:
    reply = ChatReply(text="x" * 300_000, model="m")
    with Run.create(tmp_path, manifest) as run:
        asyncio.run(run.replies.put("before", ChatReply(text="y", model="m")))
        asyncio.run(run.replies.put("long", reply))
        assert run.replies.get("long") == reply


def test_usage_is_added_up_by_model(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        for n, model in enumerate(["m", "m", "n"]):
            asyncio.run(run.replies.put(str(n), ChatReply(text="", model=model, usage=Usage(completion_tokens=5))))
    with Run.resume(tmp_path, manifest) as run:
        usage = run.replies.usage()
    assert usage == {"m": (2, Usage(completion_tokens=10)), "n": (1, Usage(completion_tokens=5))}


def test_usage_is_under_the_name_that_was_asked_for_because_that_one_has_the_price(
    tmp_path: Path, manifest: Manifest
) -> None:
    with Run.create(tmp_path, manifest) as run:
        reply = ChatReply(text="", model="gpt-4o-2024-08-06", asked="my-deployment", usage=Usage(completion_tokens=5))
        asyncio.run(run.replies.put("a", reply))
        assert run.replies.usage() == {"my-deployment": (1, Usage(completion_tokens=5))}


def test_a_restarted_stream_is_empty_and_stays_so(tmp_path: Path, manifest: Manifest) -> None:
    with Run.create(tmp_path, manifest) as run:
        old = run.stream("post")
        asyncio.run(old.append(0, "a", Kept(Usage())))
        new = run.restart_stream("post")
        assert new.counts().seen == 0
        with pytest.raises(StoreError, match="not open for writing"):
            asyncio.run(old.append(1, "b", Kept(Usage())))
        asyncio.run(new.append(7, "h", Kept(Usage())))
    with Run.resume(tmp_path, manifest) as run:
        assert [ordinal for ordinal, _, _ in run.stream("post").raw_kept()] == [7]


def test_a_commit_puts_everything_on_disk_and_can_be_repeated(tmp_path: Path, manifest: Manifest) -> None:
    async def work(run: Run) -> None:
        await run.commit()
        await run.stream("s").append(0, "a", Kept(Usage(prompt_tokens=1)))
        run.save_meter({"requests": 1})
        await run.commit()
        await run.commit()

    run = Run.create(tmp_path, manifest)
    asyncio.run(work(run))
    line = (tmp_path / "streams" / "s.jsonl").read_bytes()
    meter = (tmp_path / "meter.json").read_bytes()
    run.close()
    assert orjson.loads(line)["kept"]["prompt_tokens"] == 1
    assert orjson.loads(meter) == {"requests": 1}


def test_a_closed_run_can_be_closed_again(tmp_path: Path, manifest: Manifest) -> None:
    run = Run.create(tmp_path, manifest)
    run.save_meter({"requests": 1})
    run.close()
    run.close()
    Run.resume(tmp_path, manifest).close()
