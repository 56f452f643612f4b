"""A run folder at work: when a new one is removed again, and when what it used is kept."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from simia.errors import AuthenticationFailed, CostCeilingReached, EndpointLost, SimiaError
from simia.pipeline.metered import metered_run
from simia.store import Manifest, Run
from simia.types import Kept, Usage

_MANIFEST = Manifest(run="r", version="0", created="", config={})


def end_with(error: SimiaError, folder: Path, *, keeps: bool = False, resume: bool = False, **options: Any) -> None:
    """Open the run in ``folder``, make a file and a folder in it, keep an item where asked to, and fail."""

    def fail() -> None:
        own = ("file", "made")
        opening = metered_run(folder, _MANIFEST, None, resume=resume, free=(), growing=(), own=own, **options)
        with opening as metered:
            (folder / "file").write_text("ours")
            (folder / "made").mkdir(exist_ok=True)
            (folder / "made/part").write_text("ours")
            if keeps:
                asyncio.run(metered.run.stream("stage").append(0, "a", Kept(Usage())))
            raise error

    with pytest.raises(type(error)):
        fail()


def test_a_new_run_that_fails_before_anything_was_kept_leaves_no_folder(tmp_path: Path) -> None:
    end_with(EndpointLost("gone"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_was_there_before_a_run_in_vain_stays(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/mine").write_text("mine")
    end_with(EndpointLost("gone"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert (tmp_path / "made/mine").exists()


def test_what_was_kept_stays_when_the_run_fails(tmp_path: Path) -> None:
    end_with(EndpointLost("gone"), tmp_path, keeps=True)
    assert (tmp_path / "run.json").exists()
    assert (tmp_path / "made/part").exists()


def test_a_run_under_a_ceiling_that_is_too_low_can_be_gone_on_with(tmp_path: Path) -> None:
    end_with(CostCeilingReached("too much"), tmp_path)
    assert (tmp_path / "run.json").exists()


def test_a_resumed_run_is_never_removed(tmp_path: Path) -> None:
    Run.create(tmp_path, _MANIFEST).close()
    end_with(EndpointLost("gone"), tmp_path, resume=True)
    assert (tmp_path / "run.json").exists()


@pytest.mark.parametrize(("error", "stays"), [(AuthenticationFailed("no"), False), (EndpointLost("gone"), True)])
def test_after_an_error_of_the_settings_what_cost_nothing_may_begin_anew(
    tmp_path: Path, error: SimiaError, stays: bool
) -> None:
    end_with(error, tmp_path / "run", keeps=True, begins_anew=(AuthenticationFailed,))
    assert (tmp_path / "run").exists() is stays


def test_usage_is_noted_now_and_then(tmp_path: Path) -> None:
    with metered_run(tmp_path, _MANIFEST, None, resume=False, free=(), growing=()) as metered:
        for _ in range(7):
            metered.settled()
        assert metered.run.load_meter() is None
        metered.settled()
        assert metered.run.load_meter() == metered.meter.as_dict()
