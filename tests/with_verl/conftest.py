"""What the tests beside verl share: a model's folder without weights, and recipes of arenas."""

from collections.abc import Callable
from pathlib import Path

import pytest

LAMPS = """\
seed = 5
[environment]
world = "lamps"
tasks = 8
task_seed = 5
dynamics = "executable"
user = "one_request"
{limits}
"""


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer and a config of Qwen's family."""
    pytest.importorskip("verl")
    from verl_doubles import write_model

    folder = tmp_path_factory.mktemp("model")
    write_model(folder)
    return folder


@pytest.fixture(scope="session")
def lamps_recipe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A recipe of the world lamps where programs play everything, with limits as TOML."""

    def write(limits: str = "") -> Path:
        path = tmp_path_factory.mktemp("recipe") / "arena.toml"
        path.write_text(LAMPS.format(limits=f"[environment.limits]\n{limits}" if limits else ""))
        return path

    return write
