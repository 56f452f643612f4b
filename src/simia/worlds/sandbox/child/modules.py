"""Which modules strange code may import: those of the standard library that compute and touch nothing outside.

They are loaded before the walls close, because afterwards no file can be opened. They themselves hold references to
``os`` and ``sys``: what may be imported tells honest code where it stands, and is no wall.
"""

import builtins
import importlib
import sys
from collections.abc import Callable
from typing import Any

ALLOWED = frozenset(
    """
    __future__ abc array base64 binascii bisect calendar cmath collections collections.abc contextlib copy csv
    dataclasses datetime decimal difflib enum fnmatch fractions functools graphlib hashlib heapq hmac html inspect io
    ipaddress itertools json keyword logging math numbers operator posixpath pprint random re secrets statistics string
    struct textwrap threading time traceback types typing unicodedata urllib urllib.parse uuid warnings weakref zlib
    """.split()
)

# What the modules above, or the interpreter in the name of whoever uses it, import only when it is needed.
_USED_BY_THEM = frozenset(
    """
    _pydatetime _pylong _strptime annotationlib copyreg encodings.ascii encodings.base64_codec encodings.cp1252
    encodings.hex_codec encodings.idna encodings.latin_1 encodings.punycode encodings.rot_13 encodings.unicode_escape
    encodings.utf_16 encodings.utf_32 encodings.utf_8_sig html.entities json.decoder json.encoder json.scanner linecache
    locale opcode string.templatelib stringprep tokenize
    """.split()
)


def load() -> None:
    """Import all of them, and let those that prepare something at their first use do so now."""
    for name in sorted(ALLOWED):
        importlib.import_module(name)
    for name in sorted(_USED_BY_THEM):
        try:
            importlib.import_module(name)
        except ImportError:  # of another version of Python
            continue
    import hashlib
    import linecache

    hashlib.sha256(b"").hexdigest()  # OpenSSL reads its configuration
    vars(linecache)["updatecache"] = lambda *_: []  # tracebacks would open the files that they quote
    sys.meta_path.clear()  # an unknown encoding, for one, is then an error and no look into folders


def builtins_with(refuse: Callable[[str], Any]) -> dict[str, Any]:
    """The builtins of a strange module. An import outside of the list calls ``refuse`` with its name."""
    real = builtins.__import__

    def guarded(name: str, *place: Any, **named: Any) -> Any:
        level = named.get("level", place[3] if len(place) > 3 else 0)
        if level == 0 and name not in ALLOWED and name not in _USED_BY_THEM:
            refuse(name)
        return real(name, *place, **named)

    return {**vars(builtins), "__import__": guarded}
