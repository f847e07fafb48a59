"""What a shell of the framed protocol remembers, and what it makes of a message: no sockets here.

A `Ledger` outlives connections. It knows up to which number everything was heard (the cursor), what was
said and is not acknowledged, and which requests were answered. So after any cut the next connection goes
on where the last one ended: nothing is missed, nothing is heard twice, nothing is said twice.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, Union

from .frame import MAX_FRAME
from .sexp import Symbol, Value, get, is_plist, keyword, read, write

VERSION = "0.3.0"
"""The version of the framed protocol that this client speaks."""
FOR_NOW = ("store-unavailable", "overloaded", "shutting-down", "frame-timeout", "part-timeout")
"""Codes of refusals after which the same message may be said again."""
MAX_ANSWERED = 1_024
"""Requests whose answers are kept, to give the same one when they are offered again; and of those that are over."""
MAX_SAYINGS = 4_096
"""Things said that are remembered until somebody asks for their answer; the oldest that were answered go first."""
MAX_PARTS = 9_999
"""Parts of one message."""
MAX_MESSAGE = 64 << 20
"""Bytes of a message in parts."""
MAX_OPEN_PARTS = 4
"""Messages in parts that may be under way at once."""
PART_OVERHEAD = 512
"""Room in a frame for what stands around the data of a part."""

Id = Union[int, str]


class Offers(Protocol):
    """Something that a shell offers to carry out: see `offer.Actuator`."""

    def form(self) -> Value:
        """As the hello says it."""
        ...


class ProtocolError(Exception):
    """The peer said something that this protocol does not have."""


class Refused(Exception):
    """The daemon answered with an error; `code` is one of the protocol's list."""

    def __init__(self, code: str, message: str, retryable: bool = False) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.retryable = retryable


def plist(**fields: Value) -> list[Value]:
    """A property list; `_` in a name stands for `-`, and what is None is left out."""
    pairs: list[Value] = []
    for name, value in fields.items():
        if value is not None:
            pairs += [keyword(name.replace("_", "-")), value]
    return pairs


def word(value: Value) -> str | None:
    """The name of a keyword or symbol in lower case, without its colon."""
    return value.name.lstrip(":").lower() if isinstance(value, Symbol) else None


@dataclass(frozen=True)
class Message:
    """One message of the daemon."""

    form: Value

    @staticmethod
    def parse(text: str) -> Message:
        """Raises `ProtocolError` for what is no message, and `SexpError` for what is no form."""
        form = read(text)
        if not is_plist(form) or word(get(form, "type")) is None:
            raise ProtocolError("expected a property list with a `:type`")
        return Message(form)

    @property
    def type(self) -> str:
        """`event`, `request`, `response`, `log`, `status` or `health-response`."""
        return word(get(self.form, "type")) or ""

    @property
    def id(self) -> Id | None:
        value = get(self.form, "id")
        return value if isinstance(value, (int, str)) else None

    @property
    def target(self) -> str | None:
        return word(get(self.form, "target"))

    @property
    def meta(self) -> Value:
        return get(self.form, "meta")

    @property
    def payload(self) -> Value:
        return get(self.form, "payload")

    @property
    def seq(self) -> int | None:
        """The number of the event in its session, if it has one."""
        return _integer(get(self.meta, "seq"))

    @property
    def answers(self) -> int | None:
        """The number of the message that this one answers."""
        return _integer(get(self.meta, "answers"))

    @property
    def own(self) -> bool:
        """Whether this shell said it, on this connection or an earlier one."""
        return get(self.meta, "own") is True

    @property
    def status(self) -> str | None:
        return word(get(self.payload, "status"))

    @property
    def action(self) -> str | None:
        return word(get(self.payload, "action"))

    @property
    def text(self) -> str | None:
        value = get(self.payload, "text")
        return value if isinstance(value, str) else None

    def refusal(self) -> Refused | None:
        """The error that this message is, if it is one."""
        if self.status != "error":
            return None
        message = get(self.payload, "message")
        return Refused(
            word(get(self.payload, "code")) or "internal",
            message if isinstance(message, str) else "",
            get(self.payload, "retryable") is True,
        )


def _integer(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass
class Saying:
    """Something said under an id: it is said again until it is acknowledged, and once more never."""

    form: Value
    seq: int | None = None
    answer: Message | None = None
    connection: int = 0  # the connection on which it was said last


@dataclass(frozen=True)
class Hello:
    """What a shell says of itself. `client` must survive restarts for repeats to be known as such."""

    session: str | None = None
    shell: str = "python"
    client: str = field(default_factory=lambda: str(uuid.uuid4()))
    role: str = "controller"
    actuators: Sequence[Union[str, Offers]] = ()
    render_rate: int | None = None
    max_frame: int = MAX_FRAME
    unit: str = "bytes"

    def form(self, session: str | None, cursor: int | None, auth: Value | None) -> Value:
        """The message that attaches a connection."""
        payload = plist(
            action=keyword("handshake"),
            version=VERSION,
            capabilities=[keyword("parts")],
            length=keyword(self.unit),
            client=self.client,
            session=session,
            cursor=cursor,
            role=keyword("observer") if self.role == "observer" else None,
            shell=keyword(self.shell),
            max_frame=self.max_frame,
            render_rate=self.render_rate,
            receipts=True,
            actuators=[keyword(it) if isinstance(it, str) else it.form() for it in self.actuators] or None,
            auth=auth,
        )
        return plist(type=Symbol(":EVENT"), payload=payload)


class Ledger:
    """What outlives a connection."""

    def __init__(self, hello: Hello, cursor: int | None = None) -> None:
        self.hello = hello
        self.session = hello.session
        self.cursor = cursor
        self.connection = 0
        self.sayings: dict[Id, Saying] = {}
        self.answered: dict[Id, Value] = {}
        self._over: dict[Id, None] = {}
        self._known: set[int] = set()
        # Ids of this process: unique, so that a restarted client never repeats one by accident.
        self._prefix = secrets.token_hex(4)
        self._count = 0

    def new_id(self) -> str:
        """An id that nothing else has."""
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def attached(self, message: Message) -> None:
        """Takes the answer to a hello."""
        session, seq = get(message.payload, "session"), _integer(get(message.payload, "seq"))
        if not isinstance(session, str) or seq is None:
            raise ProtocolError("a hello was answered without session or number")
        if self.session is not None and session != self.session:
            raise ProtocolError("attached to another session than asked for")
        if self.cursor is None:
            # From now on: what was before is for others.
            self.cursor = seq
        elif seq < self.cursor:
            raise ProtocolError(f"the session ends at {seq}, before {self.cursor}")
        self.session = session

    def is_new(self, seq: int) -> bool:
        """Whether a number was not heard before; it counts as heard from now on."""
        cursor = self.cursor or 0
        if seq <= cursor or seq in self._known:
            return False
        self._known.add(seq)
        while cursor + 1 in self._known:
            cursor += 1
            self._known.discard(cursor)
        self.cursor = cursor
        return True

    def say(self, id: Id, form: Value) -> Saying:
        """Notes something to say. Raises `OverflowError` when too much waits for its answer."""
        if len(self.sayings) >= MAX_SAYINGS:
            oldest = next((id for id, saying in self.sayings.items() if saying.answer), None)
            if oldest is None:
                raise OverflowError(f"{MAX_SAYINGS} things were said and are not answered")
            del self.sayings[oldest]
        saying = self.sayings[id] = Saying(form)
        return saying

    def due(self) -> list[Saying]:
        """What was neither acknowledged nor said on this connection, oldest first."""
        return [it for it in self.sayings.values() if it.seq is None and it.connection != self.connection]

    def receipt(self, message: Message) -> None:
        """Takes a receipt: the saying is on disk, under this number."""
        seq = _integer(get(message.payload, "seq"))
        if seq is not None and message.id is not None:
            self._admit(message.id, seq)

    def _admit(self, id: Id, seq: int) -> None:
        saying = self.sayings.get(id)
        if saying is not None:
            if saying.seq not in (None, seq):
                raise ProtocolError(f"a second receipt with number {seq} after {saying.seq}")
            saying.seq = seq
        self.is_new(seq)

    def numbered(self, seq: int, message: Message) -> bool:
        """Takes a numbered event; false when it was heard before, or is a saying of ours come back."""
        if message.own and message.id is None:
            own = get(message.meta, "id")
            if isinstance(own, (int, str)) and own in self.sayings:
                self._admit(own, seq)
                return False
        if not self.is_new(seq):
            return False
        for id, saying in self.sayings.items():
            by_id = message.type == "response" and message.id == id and message.target is None
            by_number = message.answers is not None and message.answers == saying.seq
            if saying.answer is None and (by_id and message.answers is not None or by_number):
                saying.answer = message
                if message.answers is not None:
                    # The answer tells the number of what it answers, should the receipt be lost.
                    self._admit(id, message.answers)
        return True

    def keep_answer(self, id: Id, response: Value) -> None:
        """Keeps the answer to a request until its outcome is heard."""
        while len(self.answered) >= MAX_ANSWERED:
            self.answered.pop(next(iter(self.answered)))
        self.answered[id] = response

    def is_over(self, id: Id) -> bool:
        """Whether a request has ended. It may still come once more, in the tail after a cursor."""
        return id in self._over

    def end_request(self, id: Id) -> None:
        """A request has ended, however it did: it is not carried out again."""
        self.answered.pop(id, None)
        while len(self._over) >= MAX_ANSWERED:
            self._over.pop(next(iter(self._over)))
        self._over[id] = None

    def outcome(self, message: Message) -> None:
        """Takes note of how a request ended, if this message tells it."""
        effect = get(message.payload, "effect")
        if message.action == "outcome" and isinstance(effect, str):
            self.end_request(effect)


class Parts:
    """Puts messages together that came in parts."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, list[str]]] = {}

    def take(self, form: Value) -> str | None:
        """The whole text after its last part. Raises `ProtocolError`."""
        part, data = get(form, "part"), get(form, "data")
        id, n, of = get(part, "id"), _integer(get(part, "n")), _integer(get(part, "of"))
        if not isinstance(id, str):
            raise ProtocolError("a part without an id")
        if get(part, "abort") is True:
            self._open.pop(id, None)
            return None
        if n is None or of is None or not isinstance(data, str) or not 1 <= n <= of <= MAX_PARTS:
            raise ProtocolError("a part without its number or data")
        total, pieces = self._open.setdefault(id, (of, []))
        pieces.append(data)
        size = sum(len(piece) for piece in pieces)
        if total != of or len(pieces) != n or size > MAX_MESSAGE or len(self._open) > MAX_OPEN_PARTS:
            raise ProtocolError("a part that contradicts those before it")
        if n < of:
            return None
        return "".join(self._open.pop(id)[1])


def in_parts(text: str, id: str, max_frame: int) -> list[str]:
    """The payloads of the frames that carry a text: itself, or parts when it is too large for one."""
    if len(text.encode("utf-8")) <= max_frame:
        return [text]
    # A character has at most four bytes, and a quote or backslash becomes two.
    step = max(1, (max_frame - PART_OVERHEAD) // 4)
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    if len(pieces) > MAX_PARTS:
        raise ValueError(f"expected at most {MAX_PARTS} parts, got {len(pieces)}")
    parts = []
    for n, piece in enumerate(pieces, 1):
        part = plist(id=id, n=n, of=len(pieces))
        parts.append(write(plist(type=Symbol(":EVENT"), part=part, data=piece)))
    return parts
