"""Seeds are judged before anything is made from them: by rules, then by a model."""

from simia.synthesis.prefilter.judge import PROMPTS, PrefilterSettings, SeedJudge
from simia.synthesis.prefilter.rules import apply_rules, broken_rule

__all__ = ["PROMPTS", "PrefilterSettings", "SeedJudge", "apply_rules", "broken_rule"]
