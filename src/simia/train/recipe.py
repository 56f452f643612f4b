"""A recipe: everything that decides what ``simia train grpo`` learns."""

from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from simia.config import Name, Settings, checked, read_toml, with_overrides
from simia.environment.recipe import FREE as MODELS_FREE
from simia.environment.recipe import ArenaRecipe
from simia.errors import ConfigError
from simia.types import JsonObject

TINY = "tiny"
FREE = MODELS_FREE | {
    "config.learn.device",
    "config.learn.vllm",
    "config.learn.vllm_memory",
    "config.learn.vllm_url",
    "config.learn.micro_batch",
    "config.learn.generate_batch",
    "config.learn.keep_checkpoints",
    "config.learn.checkpoint_every",
    "config.learn.tensorboard",
    "config.learn.max_masked",
    "config.learn.masked_over",
}
"""Keys of a manifest that a resumed run may change: how models are reached, and how the machine is used."""

GROWING = frozenset({"config.learn.steps"})
"""Keys whose number may be larger in a resumed run: more steps only go on, where the learning rate stays."""


class LoraSettings(Settings):
    """Low-rank adapters in the place of all weights: ``rank``, ``alpha`` and ``dropout`` as in LoRA (arXiv 2106.09685),
    ``targets`` the modules that get one.
    """

    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: str | tuple[str, ...] = "all-linear"


class AgentSettings(Settings):
    """The agent that learns. ``model`` is a folder or a name that Hugging Face knows, or "tiny", a model of 400,000
    weights that is made on the spot for a rehearsal. ``lora`` trains adapters instead of all weights. ``dtype`` is that
    of the weights: "auto" takes float32, and bfloat16 on a GPU where ``lora`` leaves them as they are. Computed is in
    bfloat16 on a GPU in both cases; weights of bfloat16 themselves hardly move at a learning rate of 1e-6.
    """

    model: str = TINY
    lora: LoraSettings | None = None
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"


class LearnSettings(Settings):
    """How the agent learns: GRPO (arXiv 2402.03300) by TRL.

    Each of ``steps`` plays ``groups`` tasks, ``group_size`` episodes each. A group with fewer than ``floor`` scored
    members teaches nothing; masked episodes are played again up to ``reruns`` times. ``learning_rate`` is reached after
    ``warmup`` steps and then stays (``schedule`` "constant") or falls to 0 at the last step ("linear", "cosine"); a
    falling one depends on ``steps``, so that more of them are another run. ``kl`` is the weight of the divergence from
    the first weights, ``clip_low`` and ``clip_high`` how far a probability may move, ``loss`` how tokens are averaged
    (TRL's names).

    The agent draws with ``temperature`` and ``top_p``; one turn has at most ``turn_tokens`` tokens, and all that
    follows the first prompt, tools and user included, ``completion_tokens``.

    ``micro_batch`` episodes are in memory at a time while weights are changed; it changes no result but rounding.
    ``generate_batch`` episodes speak at a time where no vLLM generates; it changes which draws they get.
    ``checkpoint_every`` so many steps everything is saved that it takes to go on exactly, and the newest
    ``keep_checkpoints`` are kept. The run ends where more than ``max_masked`` of the episodes of the last
    ``masked_over`` steps are masked: nothing could be learned.

    ``vllm`` generates by vLLM in this process ("colocate"), with ``vllm_memory`` of the GPU's memory, or by its server
    at ``vllm_url`` ("server"); it needs vLLM installed. ``device`` "auto" takes a GPU where there is one.
    ``tensorboard`` writes the curves for TensorBoard too.
    """

    steps: int = Field(default=64, ge=1)
    groups: int = Field(default=16, ge=1)
    group_size: int = Field(default=8, ge=2)
    floor: int = Field(default=2, ge=2)
    reruns: int = Field(default=1, ge=0)
    learning_rate: float = Field(default=1e-6, gt=0)
    warmup: int = Field(default=0, ge=0)
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    kl: float = Field(default=0.0, ge=0)
    clip_low: float = Field(default=0.2, gt=0)
    clip_high: float = Field(default=0.28, gt=0)
    loss: Literal["grpo", "dr_grpo", "dapo", "bnpo"] = "dapo"
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    turn_tokens: int = Field(default=1024, ge=1)
    completion_tokens: int = Field(default=8192, ge=1)
    micro_batch: int = Field(default=8, ge=1)
    generate_batch: int = Field(default=64, ge=1)
    gradient_checkpointing: bool = True
    checkpoint_every: int = Field(default=10, ge=1)
    keep_checkpoints: int = Field(default=3, ge=1)
    max_masked: float = Field(default=0.5, gt=0, le=1)
    masked_over: int = Field(default=5, ge=1)
    vllm: Literal["off", "colocate", "server"] = "off"
    vllm_memory: float = Field(default=0.3, gt=0, lt=1)
    vllm_url: str | None = None
    device: Literal["auto", "cpu"] = "auto"
    tensorboard: bool = True

    @model_validator(mode="after")
    def _fits(self) -> "LearnSettings":
        if self.floor > self.group_size:
            raise ValueError(f"floor: a group of {self.group_size} cannot have {self.floor} scored members")
        if (self.groups * self.group_size) % self.micro_batch:
            raise ValueError(
                f"micro_batch: {self.groups} groups of {self.group_size} episodes cannot be taken "
                f"{self.micro_batch} at a time; take a number that divides {self.groups * self.group_size}"
            )
        if self.turn_tokens > self.completion_tokens:
            raise ValueError("turn_tokens: one turn cannot be longer than the whole completion")
        return self


class EvaluationSettings(Settings):
    """How the agent is examined before, during and after: ``tasks`` of the world that are never trained on, each played
    once ``every`` so many steps (0: only before and after), in the environment of the training, and, where the world is
    executable, in the real one: what is learned in a simulated world must hold there.
    """

    tasks: int = Field(default=0, ge=0)
    every: int = Field(default=0, ge=0)
    temperature: float = Field(default=1.0, gt=0)


class GrpoRecipe(ArenaRecipe):
    """What ``simia train grpo`` learns: an agent, in an environment, by reinforcement learning.

    ``name`` is what the run is called. ``seed`` is the one random seed: tasks, draws of simulators, and the agent's own
    follow from it.
    """

    name: Name
    agent: AgentSettings = AgentSettings()
    learn: LearnSettings = LearnSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @model_validator(mode="after")
    def _can_be_played(self) -> "GrpoRecipe":
        if self.agent.model == TINY and self.environment.world is None:
            raise ValueError('agent.model: "tiny" is made for an executable world: set environment.world=NAME')
        if self.environment.tasks < self.learn.groups:
            raise ValueError(
                f"environment.tasks: a step plays {self.learn.groups} different tasks (learn.groups), so there must be "
                f"as many, not {self.environment.tasks}"
            )
        if self.evaluation.tasks and self.environment.world is None:
            raise ValueError("evaluation.tasks: other tasks than those of training need environment.world=NAME")
        return self

    def recorded(self) -> JsonObject:
        """Every setting as ``run.json`` keeps it.

        Raises:
            ConfigError: a base URL holds a secret.
        """
        self.demand_no_secret()
        return self.model_dump(mode="json")


def bundled_recipes() -> tuple[str, ...]:
    """The names of the recipes that come with simia."""
    folder = resources.files("simia.train") / "recipes"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def read_recipe(name_or_path: str, overrides: list[str]) -> GrpoRecipe:
    """The recipe of a bundled name or a TOML file, with ``key=value`` words applied.

    Paths inside a file are relative to the file, those in ``overrides`` to the working directory.

    Raises:
        ConfigError: there is no such recipe, or a key or value in it is wrong; the message names the key.
    """
    path = Path(name_or_path).expanduser()
    if name_or_path in bundled_recipes() and not path.is_file():
        with resources.as_file(resources.files("simia.train") / "recipes" / f"{name_or_path}.toml") as bundled:
            settings = read_toml(bundled)
    elif path.is_file():
        settings = read_toml(path)
        _anchor(settings, path.parent)
    else:
        raise ConfigError(f"no recipe {name_or_path!r}: give a .toml file, or one of {', '.join(bundled_recipes())}")
    return recipe_of(settings, overrides, f"recipe {name_or_path}")


def recipe_of(config: JsonObject, overrides: list[str], origin: str = "the recipe in run.json") -> GrpoRecipe:
    """The recipe in ``config``, with ``key=value`` words applied. A path in one of these is relative to the working
    directory; one in ``config`` is taken as it stands.

    Raises:
        ConfigError: a key or value is wrong; the message names the key.
    """
    said = with_overrides({}, overrides).get("agent")
    settings = with_overrides(config, overrides)
    if isinstance(said, dict) and "model" in said:
        _anchor(settings, Path.cwd())
    return checked(GrpoRecipe, settings, origin)


def _anchor(settings: dict[str, Any], folder: Path) -> None:
    """Make a relative path of a model absolute where a folder stands there; "tiny" is never one, and any other name is
    one of a hub.
    """
    agent = settings.get("agent")
    model = agent.get("model") if isinstance(agent, dict) else None
    if not isinstance(agent, dict) or not isinstance(model, str) or model == TINY:
        return
    path = (folder / Path(model).expanduser()).resolve()
    if path.is_dir():
        agent["model"] = str(path)
