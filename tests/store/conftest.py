"""A manifest to make runs with."""

import pytest

from simia.store import Manifest


@pytest.fixture
def manifest() -> Manifest:
    """A small manifest with a nested configuration."""
    return Manifest(
        run="demo",
        version="0.1.0",
        created="2026-01-01T00:00:00Z",
        config={"seed": 1, "plan": {"count": 10, "personas": ["calm", "hasty"]}},
        prompts={"trajectory": "a" * 64},
        seeds={"bundled:shop": "b" * 64},
        licences=("Apache-2.0",),
        model="m",
        model_reason="--model",
    )
