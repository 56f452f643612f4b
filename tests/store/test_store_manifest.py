"""What makes two runs the same run."""

from simia.store import Manifest


def test_a_manifest_equals_itself_after_a_round_trip(manifest: Manifest) -> None:
    again = Manifest.model_validate_json(manifest.model_dump_json())
    assert manifest.differences(again) == ()


def test_differences_are_dotted_keys(manifest: Manifest) -> None:
    config = {"seed": 1, "plan": {"count": 11, "personas": ["calm", "hasty"]}}
    other = manifest.model_copy(update={"config": config, "prompts": {"trajectory": "c" * 64}})
    assert manifest.differences(other) == ("config.plan.count", "prompts.trajectory")


def test_a_free_key_is_no_difference_and_neither_is_what_stands_below_it(manifest: Manifest) -> None:
    other = manifest.model_copy(update={"config": {"seed": 2, "plan": {"count": 11, "personas": []}}})
    assert manifest.differences(other, free=("config.plan",)) == ("config.seed",)
    assert manifest.differences(other, free=("config.plan.count",)) == ("config.plan.personas", "config.seed")


def test_a_growing_key_differs_only_if_it_shrinks(manifest: Manifest) -> None:
    larger, smaller = (
        manifest.model_copy(update={"config": {"seed": 1, "plan": {"count": count, "personas": ["calm", "hasty"]}}})
        for count in (11, 9)
    )
    assert manifest.differences(larger, growing=("config.plan.count",)) == ()
    assert manifest.differences(smaller, growing=("config.plan.count",)) == ("config.plan.count",)


def test_a_key_that_only_one_side_has_is_a_difference(manifest: Manifest) -> None:
    other = manifest.model_copy(update={"seeds": {}})
    assert manifest.differences(other) == ("seeds.bundled:shop",)


def test_numbers_of_any_length_are_told_apart(manifest: Manifest) -> None:
    one, other = (manifest.model_copy(update={"config": {"seed": 2**70 + n}}) for n in (0, 1))
    assert one.differences(other) == ("config.seed",)


def test_true_is_not_one(manifest: Manifest) -> None:
    other = manifest.model_copy(update={"config": {**manifest.config, "seed": True}})
    assert manifest.differences(other) == ("config.seed",)


def test_version_date_and_reason_only_inform(manifest: Manifest) -> None:
    other = manifest.model_copy(update={"version": "9", "created": "later", "model_reason": "OPENAI_BASE_URL"})
    assert manifest.differences(other) == ()


def test_a_tuple_in_the_config_equals_the_list_it_is_stored_as(manifest: Manifest) -> None:
    config = {"seed": 1, "plan": {"count": 10, "personas": ("calm", "hasty")}}
    assert manifest.differences(manifest.model_copy(update={"config": config})) == ()


def test_the_explanation_shows_both_values(manifest: Manifest) -> None:
    other = manifest.model_copy(update={"config": {"seed": 2, "plan": manifest.config["plan"]}})
    assert manifest.explain(other) == "config.seed: was 1, now 2"
