"""The command line: each command builds, calls the rooms below, and prints."""
