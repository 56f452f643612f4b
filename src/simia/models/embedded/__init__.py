"""A language model without a server: llama.cpp in a child process, every reply under a grammar."""
