"""What is shown while it is made: pieces of answers, of the way to them, and of what runs. No sockets here.

A piece names who makes it (a thought or an act), its channel, and how many bytes of the channel came before
it. A shell that attaches in the middle gets what was streamed so far, then the rest; `Pieces` gives each
text once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from .oacp import Message, word
from .sexp import get

MAX_STREAMS = 1_024
"""Channels whose place is remembered; the one that was heard of least lately is forgotten."""


@dataclass(frozen=True)
class Piece:
    """A piece of something in the making; not recorded. The numbered message has the whole text."""

    thought: str
    channel: str
    """`text` of the answer, `reasoning` behind it, `output` and `progress` of what runs; show no other."""
    offset: int | None
    """Bytes of the channel before it, in UTF-8; None from a daemon that does not tell."""
    text: str
    is_gap: bool = False
    """Whether something before it is gone: so much was streamed that its front is not kept."""

    @staticmethod
    def of(message: Message) -> Piece | None:
        """The piece that a message is, if it is one."""
        if message.action != "delta" or message.seq is not None:
            return None
        offset = get(message.payload, "offset")
        return Piece(
            _thought(message),
            word(get(message.payload, "channel")) or "text",
            offset if isinstance(offset, int) and not isinstance(offset, bool) and offset >= 0 else None,
            message.text or "",
        )


def voided(message: Message) -> str | None:
    """The thought that a message takes back: what it has shown does not count."""
    return _thought(message) if message.action == "voided" and message.seq is None else None


def _thought(message: Message) -> str:
    thought = get(message.payload, "thought")
    # An old daemon names the turn alone.
    return str(thought if thought is not None else f"turn-{get(message.payload, 'turn')}")


class Pieces:
    """Places in channels: what was given once is not given again."""

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[str, str], int] = OrderedDict()

    def take(self, piece: Piece) -> Piece | None:
        """The part of a piece that is new, if any is."""
        if piece.offset is None:
            return piece if piece.text else None
        name = (piece.thought, piece.channel)
        place = self._places.pop(name, 0)
        data = piece.text.encode("utf-8", "surrogatepass")
        end = piece.offset + len(data)
        self._places[name] = max(place, end)
        while len(self._places) > MAX_STREAMS:
            self._places.popitem(last=False)
        if end <= place:
            return None
        # Pieces end between characters, so the place is between two.
        text = data[max(0, place - piece.offset) :].decode("utf-8", "replace")
        return Piece(piece.thought, piece.channel, max(place, piece.offset), text, piece.offset > place)

    def void(self, thought: str) -> None:
        """Forgets what a thought has shown."""
        for name in [name for name in self._places if name[0] == thought]:
            del self._places[name]
