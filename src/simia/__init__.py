"""simia trains tool-using language-model agents in worlds that need no environment engineering."""

__version__ = "0.1.0"
