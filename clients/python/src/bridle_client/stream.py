"""Streams of profile `dev.bridle.sse.1`: bytes to events, and events to what may be shown meanwhile.

Everything before `final` is for display. A stream that breaks can be taken up again after the last event
that came whole, if the Engine has offered it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .perform import Abilities, Render, is_plain_message, render
from .response import InvalidResponse, Json, integer, read_directive
from .text import MAX_NOTICE, MAX_TEXT, first_text

PROFILE = "dev.bridle.sse.1"
"""The profile of streams that is understood."""
MAX_FOLDED = 1 << 20
"""Characters of pieces that are put together for display; what is beyond waits for `final`."""
MAX_LEVELS = 16
"""Levels of a payload that a piece may lie under."""
MAX_LINE = 4 << 20
"""Bytes of one line of a stream."""


@dataclass(frozen=True)
class Event:
    """One event: its name and its data as text."""

    name: str
    data: str


class EventParser:
    """Takes bytes of a `text/event-stream` as they come. Raises `ValueError` for a line without end."""

    def __init__(self) -> None:
        self._buffer = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[Event]:
        """The events that are whole now."""
        self._buffer += data
        lines = self._buffer.split(b"\n")
        self._buffer = lines.pop()
        if len(self._buffer) > MAX_LINE:
            raise ValueError("a line without end")
        events = []
        for line in lines:
            event = self._line(line.rstrip(b"\r").decode("utf-8", "replace"))
            if event:
                events.append(event)
        return events

    def _line(self, line: str) -> Event | None:
        if not line:
            event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field_name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field_name == "event":
            self._name = value
        elif field_name == "data":
            self._data.append(value)
        return None


@dataclass(frozen=True)
class Display:
    """A message as far as it is known. The whole of it follows."""

    directive: int
    text: str


@dataclass(frozen=True)
class Progress:
    """What the Engine is doing."""

    label: str


class Broken(Exception):
    """The stream is not what it should be: as good as cut."""


@dataclass
class Stream:
    """What a stream has said so far, across its connections."""

    abilities: Abilities
    last_seq: int | None = None
    resumable: bool = False
    shown: dict[str, Json] = field(default_factory=dict)
    _folded: dict[str, Json] = field(default_factory=dict)
    _room: int = MAX_FOLDED

    def take(self, name: str, data: Any) -> list[Display | Progress | Render] | Json:
        """What to show for an event, or the message of `final`. Raises `Broken`."""
        try:
            return self._take(name, data)
        except InvalidResponse as error:
            raise Broken(str(error)) from error

    def _take(self, name: str, data: Any) -> list[Display | Progress | Render] | Json:
        seq = integer(data, "seq") if isinstance(data, dict) else None
        if seq is None:
            return []
        expected = 0 if self.last_seq is None else self.last_seq + 1
        if seq < expected:
            return []
        if seq > expected or self.last_seq is None and name != "open":
            raise Broken("an event is missing")
        self.last_seq = seq
        if name == "open":
            self.resumable = isinstance(data.get("resume"), dict)
        elif name == "progress":
            label = first_text(data, ("label",), MAX_NOTICE)
            return [] if label is None else [Progress(label)]
        elif name == "directive.start":
            self._start(data)
        elif name == "directive.delta":
            return self._delta(data)
        elif name == "directive.done":
            return self._done(data)
        elif name == "final":
            message = data.get("message")
            if not isinstance(message, dict):
                raise Broken("a final event without its message")
            return message
        return []

    def _start(self, data: Json) -> None:
        id, index = data.get("directive_id"), integer(data, "index")
        directive = data.get("directive")
        if isinstance(id, str) and index is not None and isinstance(directive, dict) and len(self._folded) < 256:
            self._folded[id] = {"index": index, "directive": {**directive, "payload": {}}}

    def _delta(self, data: Json) -> list[Display | Progress | Render]:
        id, path = data.get("directive_id"), data.get("path")
        folded = self._folded.get(id) if isinstance(id, str) else None
        if folded is None or not isinstance(path, str):
            return []
        append = data.get("append")
        self._room -= len(append) if isinstance(append, str) else 1
        if self._room < 0 or not fold(folded["directive"], path, data):
            return []
        directive = read_directive(folded["directive"])
        if not is_plain_message(directive, self.abilities):
            return []
        text = first_text(directive.payload, ("text", "message"), MAX_TEXT)
        return [] if text is None else [Display(folded["index"], text)]

    def _done(self, data: Json) -> list[Display | Progress | Render]:
        id, raw = data.get("directive_id"), data.get("directive")
        folded = self._folded.pop(id, None) if isinstance(id, str) else None
        directive = read_directive(raw)
        if folded is None or directive.directive_id != id or not is_plain_message(directive, self.abilities):
            return []
        rendered = render(folded["index"], directive.payload)
        if rendered is None or directive.directive_id is None:
            return []
        self.shown[directive.directive_id] = directive.raw
        return [rendered]


def fold(directive: Json, path: str, data: Json) -> bool:
    """Puts a piece where its path says, below `/payload`; false when it fits nowhere."""
    keys = [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")]
    if keys[:2] != ["", "payload"] or len(keys) > MAX_LEVELS:
        return False
    holder: Any = directive
    for key in keys[1:-1]:
        if not isinstance(holder, dict):
            return False
        holder = holder.setdefault(key, {})
    if not isinstance(holder, dict):
        return False
    if "value" in data:
        holder[keys[-1]] = data["value"]
        return True
    before, append = holder.get(keys[-1], ""), data.get("append")
    if not isinstance(before, str) or not isinstance(append, str):
        return False
    holder[keys[-1]] = before + append
    return True
