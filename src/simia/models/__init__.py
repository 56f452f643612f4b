"""Talking to language models: one endpoint client, one wrapper per duty, and doubles for tests."""
