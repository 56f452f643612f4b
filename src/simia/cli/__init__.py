"""The command line: each command builds, calls one room, and prints."""
