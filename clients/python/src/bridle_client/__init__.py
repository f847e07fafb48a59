"""Clients of bridle: the framed protocol (`Client`) and OpenHarness over HTTP (`Engine`).

The parts below them do no input or output and can be used alone: `sexp`, `frame`, `oacp`, `piece` and `offer`
for the framed protocol; `response`, `perform`, `stream` and `shell` for an OpenHarness Shell.
"""

from .client import CannotConnect, Client, Key, Question, Scope
from .oacp import Hello, Message, Refused, plist
from .offer import Actuator, OfferedAction, OfferedArgument
from .openharness import Engine, Turn, Ui
from .perform import Abilities, Ask
from .piece import Piece
from .sexp import Symbol, get, keyword, read, write
from .shell import Intent, Profile, Shell

__all__ = [
    "Abilities", "Actuator", "Ask", "CannotConnect", "Client", "Engine", "Hello", "Intent", "Key", "Message",
    "OfferedAction", "OfferedArgument", "Piece", "Profile", "Question", "Refused", "Scope", "Shell", "Symbol", "Turn", "Ui", "get", "keyword", "plist", "read", "write",
]
__version__ = "0.1.0"
