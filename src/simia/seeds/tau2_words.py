"""The words around tau2's gold actions: what user and agent say where the data set has no dialogue.

tau2 tells a user in the second person what to want; there is no conversation. So the opening is that text in the first
person, and the agent's lines are made from the calls: poor style, but nothing in them is untrue.
"""

import re
from collections.abc import Sequence
from typing import Any

_BEFORE_ME = (
    "to|for|with|from|of|at|about|told|tell|tells|give|gives|gave|allow|allows|help|helps|let|lets|offer|offers"
)
# Longest first: a rule must not eat the beginning of a longer one.
_FIRST_PERSON: tuple[tuple[str, str], ...] = (
    (r"you are", "I am"),
    (r"you're", "I'm"),
    (r"you were", "I was"),
    (r"you've", "I have"),
    (r"you'd", "I would"),
    (r"you'll", "I will"),
    (r"are you", "am I"),
    (r"do you", "do I"),
    (r"you (mobile|name)", r"my \1"),  # slips of the data set
    (r"you to", "me to"),
    (r"yourself", "myself"),
    (r"yours", "mine"),
    (r"your", "my"),
    (rf"({_BEFORE_ME}) you", r"\1 me"),
    (r"you", "I"),
)
_RULES = tuple((re.compile(rf"\b{pattern}\b", re.IGNORECASE), text) for pattern, text in _FIRST_PERSON)
_SENTENCE_START = re.compile(r"(^|[.!?:]\s+|\n\s*)([a-z])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_DIRECTION = re.compile(r"\b(agent|reveal|make up|pretend|persona)\b", re.IGNORECASE)
_SWITCHED = re.compile(r"is now (ON|OFF)")
_BLANKS = re.compile(r"\s+")

_PAST = {
    "book": "booked",
    "cancel": "cancelled",
    "modify": "modified",
    "refuel": "refuelled",
    "return": "returned",
    "send": "sent",
    "suspend": "suspended",
}
_USER_ACTIONS: dict[str, str] = {
    "toggle_airplane_mode": "switch airplane mode",
    "toggle_data": "switch mobile data",
    "toggle_roaming": "switch data roaming",
    "toggle_data_saver_mode": "switch data saver mode",
    "toggle_wifi": "switch Wi-Fi",
    "toggle_wifi_calling": "switch Wi-Fi calling",
    "set_network_mode_preference": "set the preferred network mode to {mode}",
    "reseat_sim_card": "take out the SIM card and put it back in",
    "reboot_device": "restart your phone",
    "reset_apn_settings": "reset the APN settings to default",
    "grant_app_permission": "give the app {app_name} the permission {permission}",
    "disconnect_vpn": "disconnect the VPN",
    "make_payment": "pay the bill that I have just sent you",
}


def opening(reason: str, known: str | None) -> str:
    """What the user says first: who they are and what they want, in the first person."""
    return " ".join(part for part in (first_person(_wish(reason)), first_person(known or "")) if part)


def first_person(text: str) -> str:
    """A text about "you" as its reader would say it."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = re.sub(r"\bi\b", "I", text)
    text = _SENTENCE_START.sub(lambda found: found[1] + found[2].upper(), text.strip())
    return _BLANKS.sub(" ", text)


def _wish(reason: str) -> str:
    """``reason`` without the sentences that direct an actor; all of it where nothing else would be left."""
    kept = [sentence for sentence in _SENTENCE.split(reason.strip()) if not _DIRECTION.search(sentence)]
    return " ".join(kept).lstrip(" .") or reason


def proposal(actions: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """What the agent says before it changes something: the policies demand an explicit yes."""
    listed = "\n".join(f"- {described(name, arguments)}" for name, arguments in actions)
    return f"I would now do the following:\n{listed}\n\nShall I go ahead?"


def described(name: str, arguments: dict[str, Any]) -> str:
    """A call in words, with every argument."""
    told = "; ".join(f"{key.replace('_', ' ')}: {_told(value)}" for key, value in arguments.items())
    return f"{name.replace('_', ' ')} ({told})" if told else name.replace("_", " ")


def instruction(name: str, arguments: dict[str, Any], observation: str) -> str:
    """How the agent asks the user to do something on the user's own device.

    tau2 has toggles; a person is asked to switch on or off, which is known from the observation.
    """
    spelled = _USER_ACTIONS.get(name)
    what = described(name, arguments) if spelled is None else spelled.format(**arguments)
    switched = _SWITCHED.search(observation)
    if switched is not None and what.startswith("switch "):
        what = f"{what} {switched.group(1).lower()}"
    return f"Please {what}, and tell me what your phone shows."


def report(observation: str) -> str:
    """How the user tells what the device showed: the true observation, word for word."""
    return f"Done. It says: {observation}"


def closing(writes: Sequence[tuple[str, dict[str, Any]]], told: Sequence[str], transferred: bool, guided: bool) -> str:
    """The last thing the agent says. ``told`` is what tau2 demands that the agent communicates."""
    facts = f" The information you asked for: {', '.join(told)}." if told else ""
    if transferred:
        return f"You are being transferred to a human agent. Please hold on.{facts}"
    if writes:
        done = " and ".join(dict.fromkeys(_past(name) for name, _ in writes))
        return f"Done: I have {done}.{facts} Is there anything else I can help you with?"
    if guided:
        return f"With these settings your phone should work as it should.{facts} Please try it."
    if told:
        return f"I have looked this up for you.{facts} I have not changed anything."
    return "I am sorry, but what you ask for is not possible under our policy, so I have not changed anything."


def _past(name: str) -> str:
    verb, _, rest = name.partition("_")
    return f"{_PAST.get(verb, verb + 'd')} the {rest.replace('_', ' ')}"


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_told(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return " / ".join(_told(inner) for inner in value) or "none"
    return str(value)
