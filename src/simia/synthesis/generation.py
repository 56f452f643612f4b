"""The generate stage: which conversations are asked for, and in which order."""

from collections.abc import Iterator

from simia.pipeline import Item
from simia.seeds.plan import draw_plan
from simia.simulate import PlannedSeed
from simia.synthesis.recipe import Recipe
from simia.synthesis.seed_table import SeedTable


class PlannedItems:
    """The conversations of a recipe, in rounds over the seeds: item ``n`` is draw ``n // seeds`` of seed
    ``n % seeds``. Its plan depends on the recipe's seed, the item's key and nothing else, so a larger ``count`` only
    adds items.
    """

    def __init__(self, recipe: Recipe, table: SeedTable) -> None:
        self._recipe = recipe
        self._table = table
        self._plan = recipe.plan.model_copy(update={"seed": recipe.seed})

    def __len__(self) -> int:
        return self._recipe.count if len(self._table) else 0

    def __iter__(self) -> Iterator[Item[PlannedSeed]]:
        return (self[ordinal] for ordinal in range(len(self)))

    def __getitem__(self, ordinal: int) -> Item[PlannedSeed]:
        """The item ``ordinal``, from 0."""
        attempt, place = divmod(ordinal, len(self._table))
        seed = self._table[place]
        key = f"{seed.id}#{attempt}"
        plan = draw_plan(seed, key, attempt, self._plan)
        return Item(ordinal, key, PlannedSeed(seed=seed, plan=plan, attempt=attempt, item_id=key))
