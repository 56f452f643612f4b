"""A tool: what an agent may call."""

from functools import cached_property

from simia.types.schema import Schema, schema_for
from simia.types.value import JsonObject, Value


class ToolSpec(Value):
    """Name, meaning and schemas of a tool.

    ``parameters`` and ``returns`` are JSON Schemas; without ``returns`` any observation is right. ``source`` is the
    tool's code: it is for simulators and is never shown to an agent.
    """

    name: str
    description: str = ""
    parameters: JsonObject
    returns: JsonObject | None = None
    source: str | None = None

    @cached_property
    def arguments_schema(self) -> Schema:
        """``parameters``, compiled.

        Raises:
            SchemaError: ``parameters`` is no JSON Schema.
        """
        return schema_for(self.parameters)

    @cached_property
    def returns_schema(self) -> Schema | None:
        """``returns``, compiled, or None where the tool declares none.

        Raises:
            SchemaError: ``returns`` is no JSON Schema.
        """
        return None if self.returns is None else schema_for(self.returns)

    def as_openai(self) -> JsonObject:
        """The tool as chat-completions endpoints, chat templates and training files spell it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}
