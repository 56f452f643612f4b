"""Simulators measured against executable worlds: samples, strata, scores, runs (arXiv 2605.07247, EnvSimBench)."""
