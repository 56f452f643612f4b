"""What a model does not vary by itself, drawn for it: the user's name, and the tool at the centre of the task.

Left alone, models take the exemplar's people and its wish again, or the same few names every time. Names are of many
places; no name belongs to a domain.
"""

from random import Random

from simia.types import AssistantMessage, Seed

_FIRST = (
    "Aisha Akira Alejandro Amara Anders Anneli Aryan Beatriz Bogdan Camila Chidi Daria Dmitri Eamon Elif Emeka Esra "
    "Farid Fatou Felix Giulia Goran Hana Henrik Ibrahim Ilse Imani Ines Ivana Jamal Jing Joao Kavya Kenji Kwame Lars "
    "Leila Linh Luca Maren Mateus Mei Milan Nadia Nils Noor Olena Omar Paavo Petra Priya Rafael Rosa Samira Sanjay "
    "Sione Soren Tariq Tereza Thabo Uma Viktor Wanjiru Xavier Yara Yusuf Zofia"
).split()
_LAST = (
    "Abebe Adeyemi Almeida Andersson Aydin Banerjee Bauer Bianchi Bosman Castillo Chanda Costa Dahl Diallo Dubois "
    "Eriksen Fernandez Fischer Fontaine Gashi Georgiou Haddad Horvat Ibanez Iyer Jansen Kaminski Kang Kim Kovacs "
    "Laine Lam Lehmann Lindqvist Mbeki Medina Mensah Moreau Nair Nakamura Novak Okafor Olsen Ortega Pavlov Pham Quispe "
    "Rahimi Reyes Romano Sato Schreiber Silva Tamm Tanaka Torres Urban Vargas Visser Weiss Yamada Zhang Zielinski"
).split()
_PREFER_UNUSED = 0.7


def user_name(rng: Random) -> str:
    """A first and a last name."""
    return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"


def tools_to_centre(seed: Seed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The world's tools that the reference does not call, and all of them: what :func:`central_tool` draws from."""
    used = {
        call.name for message in seed.reference if isinstance(message, AssistantMessage) for call in message.tool_calls
    }
    names = tuple(tool.name for tool in seed.world.tools)
    return tuple(name for name in names if name not in used), names


def central_tool(tools: tuple[tuple[str, ...], tuple[str, ...]], rng: Random) -> str:
    """The tool that a new task turns on, rather one that the reference does not call; empty for a world without."""
    unused, names = tools
    if unused and rng.random() < _PREFER_UNUSED:
        return rng.choice(unused)
    return rng.choice(names) if names else ""
