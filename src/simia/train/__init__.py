"""Agents that learn: recipes over TRL."""
