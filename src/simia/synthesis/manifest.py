"""What a run of a recipe is made from, and which of it may be another when the run is gone on with."""

from datetime import UTC, datetime
from pathlib import Path

from simia import __version__
from simia.models.cast import Cast
from simia.prompts import hashes
from simia.simulate import trajectory, turns
from simia.store import Manifest, Run
from simia.synthesis import prefilter
from simia.synthesis.cast import settled
from simia.synthesis.export import CARD
from simia.synthesis.recipe import FREE, GROWING, USED_BY, Recipe
from simia.synthesis.sources import fingerprint

STAGES = ("prefilter", "generate", "postprocess", "export")
"""The stages of a synthesis run in their order; all but ``export`` are also the names of streams."""

ASKING = frozenset({"prefilter", "generate"})
"""The stages that may ask a model."""


def demand_same(recipe: Recipe, cast: Cast, folder: Path) -> None:
    """Make sure that the run in ``folder`` can be gone on with by ``recipe`` and ``cast``. Changes nothing.

    Raises:
        ManifestMismatch: it belongs to another configuration; the message names the keys.
        StoreError: there is no run in the folder.
    """
    manifest = manifest_to_resume(settled(recipe, cast), cast, folder, STAGES)
    Run.check(folder, manifest, free=FREE, growing=GROWING)


def manifest_to_resume(recipe: Recipe, cast: Cast, folder: Path, stages: tuple[str, ...]) -> Manifest:
    """The manifest of ``recipe``, but for what was made by stages that are not taken now."""
    with Run.read(folder) as run:
        found = run.manifest
        made = {"postprocess"} & set(run.stream_names())
    if (folder / "export" / CARD).exists():
        made.add("export")
    manifest = found
    if ASKING & set(stages):
        # Only the prefilter reads seed files: what it kept stays what it is, wherever they have gone since.
        manifest = manifest_of(recipe, cast, seeds=None if "prefilter" in stages else found.seeds)
    config = recipe.recorded()
    for key, stage in USED_BY.items():
        if stage in made and stage not in stages and key in found.config:
            config[key] = found.config[key]
    return manifest.model_copy(update={"config": config})


def manifest_of(recipe: Recipe, cast: Cast, *, seeds: dict[str, str] | None = None) -> Manifest:
    """What a run of ``recipe`` by ``cast`` is made from. ``seeds`` is the fingerprint of its seeds, if it is known.

    Raises:
        SeedError: a seed file cannot be read.
        ExtraMissing: the package that makes the seeds is not installed.
        ConfigError: a base URL holds a secret.
    """
    names = trajectory.PROMPTS if recipe.simulate.mode == "trajectory" else turns.PROMPTS
    if recipe.prefilter.judge:
        names = (*names, *prefilter.PROMPTS)
    return Manifest(
        run=recipe.name,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        config=recipe.recorded(),
        prompts=hashes(names),
        seeds=fingerprint(recipe.seeds) if seeds is None else seeds,
        licences=(recipe.seeds.licence,) if recipe.seeds.licence else (),
        model=cast.names,
        model_reason="; ".join(cast.reasons),
    )
