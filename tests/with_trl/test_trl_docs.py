"""The script in the documents runs as it stands."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.worlds import World

pytestmark = [pytest.mark.trl, pytest.mark.filterwarnings("default")]

PAGE = Path(__file__).parents[2] / "docs" / "environment.md"


def test_the_script_of_the_page_trains_an_agent(lamps: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig

    from simia.train.tiny import make_tiny

    make_tiny(lamps, tmp_path / "agent", steps=5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    (script,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    given: dict[str, Any] = {
        "model": AutoModelForCausalLM.from_pretrained(tmp_path / "agent"),
        "tokenizer": AutoTokenizer.from_pretrained(tmp_path / "agent"),
        "args": GRPOConfig(
            output_dir=str(tmp_path / "out"),
            max_steps=2,
            max_completion_length=256,
            per_device_train_batch_size=4,
            num_generations=4,
            use_cpu=True,
            bf16=False,
            report_to=[],
        ),
    }

    exec(compile(script, str(PAGE), "exec"), given)

    assert given["trainer"].state.global_step == 2
