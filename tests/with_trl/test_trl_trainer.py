"""What the trainer holds its weights in, what it draws, and which checkpoint it goes on from."""

import random
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.train.recipe import AgentSettings, LoraSettings

pytestmark = [pytest.mark.trl, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize(
    ("settings", "on_cpu", "name"),
    [
        (AgentSettings(), True, "float32"),
        (AgentSettings(), False, "float32"),
        (AgentSettings(lora=LoraSettings()), False, "bfloat16"),
        (AgentSettings(lora=LoraSettings()), True, "float32"),
        (AgentSettings(dtype="bfloat16"), False, "bfloat16"),
        (AgentSettings(lora=LoraSettings(), dtype="float32"), False, "float32"),
    ],
)
def test_weights_that_are_changed_are_exact_unless_somebody_wants_it_otherwise(
    settings: AgentSettings, on_cpu: bool, name: str
) -> None:
    from simia.train.trl_trainer import weights_dtype

    assert str(weights_dtype(settings, on_cpu=on_cpu)) == f"torch.{name}"


def test_a_step_of_the_default_learning_rate_moves_weights_of_float32_and_hardly_any_of_bfloat16() -> None:
    import torch

    moved = {}
    for dtype in (torch.float32, torch.bfloat16):
        weights = torch.nn.Parameter(torch.linspace(-0.05, 0.05, 10_000).to(dtype))
        before = weights.detach().clone()
        optimiser = torch.optim.AdamW([weights], lr=1e-6, weight_decay=0.0)
        weights.grad = torch.ones_like(weights)
        optimiser.step()
        moved[dtype] = (weights != before).float().mean().item()

    assert moved[torch.float32] > 0.99
    assert moved[torch.bfloat16] < 0.1


def test_draws_in_between_leave_those_outside_as_they_were() -> None:
    import numpy
    import torch

    from simia.train.trl_trainer import draws_of

    def drawn() -> tuple[float, float, float]:
        return random.random(), float(numpy.random.rand()), torch.rand(1).item()

    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)
    before = drawn()
    expected = drawn()
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)
    assert drawn() == before

    with draws_of(-1):
        inside = drawn()

    assert drawn() == expected
    with draws_of(-1):
        assert drawn() == inside


def test_a_checkpoint_that_was_cut_short_is_passed_over_as_often_as_it_happens(tmp_path: Path) -> None:
    from simia.train.trl_trainer import last_checkpoint

    whole = tmp_path / "checkpoints" / "checkpoint-5"
    whole.mkdir(parents=True)
    (whole / "trainer_state.json").write_text("{}")
    for _ in range(2):
        (tmp_path / "checkpoints" / "checkpoint-10").mkdir()
        (tmp_path / "checkpoints" / "checkpoint-10" / "weights").write_text("half")

        assert last_checkpoint(tmp_path) == (whole, 5)
