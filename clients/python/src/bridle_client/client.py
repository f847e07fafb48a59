"""A shell of the framed protocol over TCP or a Unix socket: blocking, without threads.

    with Client("127.0.0.1:9105", session="work") as client:
        print(client.ask("help").text)

Whatever happens to the connection or the daemon, the client comes back by itself and goes on where it
was; see `oacp.Ledger` for what that takes. Nothing is read while none of its methods runs.
"""

from __future__ import annotations

import random
import secrets
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Callable, Optional

from .frame import MAX_FRAME, ConnectionSeal, Decoder, FrameError, Seal, encode
from .oacp import FOR_NOW, Hello, Id, Ledger, Message, Parts, ProtocolError, Saying, in_parts, plist, word
from .piece import Piece, Pieces, voided
from .sexp import SexpError, Symbol, Value, get, keyword, write

CONNECT_WAIT = 10.0
"""Seconds for a connection to stand."""
ANSWER_WAIT = 600.0
"""Seconds for an answer, unless told otherwise: a daemon gives up on a turn after that time."""
FIRST_WAIT = 20.0
"""Seconds until a daemon that was never reached counts as one that is not there."""
HELLO_WAIT = 20.0
"""Seconds for the answer to a hello: a connection made while a daemon stopped may stay silent forever."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Seconds between attempts to connect: they double from the first to the longest."""
AGAIN = 0.1
"""Seconds before something is said again that was refused for now."""
MAX_QUEUED = 100_000
"""Events that may wait to be taken with `events`."""
CHUNK = 64 * 1024
"""Bytes taken from a socket at once."""

Answers = Callable[[Message], Value]
"""Carries out a request of the engine and gives what belongs into the answer; an exception is a failure."""
Approves = Callable[["Question"], Optional[str]]
"""Gives `allow`, `deny`, or None to leave a question open."""


@dataclass(frozen=True)
class Key:
    """A shared secret and its id. With it, every frame is signed."""

    id: str
    secret: bytes


@dataclass(frozen=True)
class Scope:
    """How far a lasting yes would go: a word, such as `action` or `file`, and what it allows."""

    name: str
    allows: str


@dataclass(frozen=True)
class Question:
    """Something that is done only after a yes. `wanted` is exactly what the yes is for."""

    id: str
    text: str
    risk: str
    target: str
    wanted: Value
    hash: str
    deadline: int | None
    scopes: tuple[Scope, ...] = ()
    """Scopes in which an owner may allow it from now on, with `Client.grant`."""


class CannotConnect(ConnectionError, TimeoutError):
    """Nobody answers at the address. Says where, and what the system said."""


class Disconnected(Exception):
    """The connection is gone, or never stood."""


class Client:
    """A shell that is attached to one session."""

    def __init__(
        self,
        address: str,
        *,
        session: str | None = None,
        cursor: int | None = None,
        hello: Hello | None = None,
        key: Key | None = None,
        on_request: Answers | None = None,
        on_approval: Approves | None = None,
        on_delta: Callable[[str], None] | None = None,
        on_piece: Callable[[Piece], None] | None = None,
        on_void: Callable[[str], None] | None = None,
        keep_events: bool = True,
    ) -> None:
        """`address` is `HOST:PORT` or the path of a Unix socket; `hello` says more than a session.

        With a `cursor`, everything after that number is heard, and 0 is the whole session; without
        one, what happens from now on. `on_request` makes this shell an actuator. `on_delta` gets the text
        of answers under way, `on_piece` every channel of what is made, each piece once; `on_void` the thought
        whose pieces do not count any more. A program that only asks, and never takes `events`, says
        `keep_events=False`.
        """
        self.address = address
        self.ledger = Ledger(hello or Hello(session=session), cursor)
        self.key = key
        self.on_request = on_request
        self.on_approval = on_approval
        self.on_delta = on_delta
        self.on_piece = on_piece
        self.on_void = on_void
        self._pieces = Pieces()
        self._keep_events = keep_events
        self._queue: deque[Message] = deque()
        self._later: deque[tuple[float, Saying]] = deque()
        self._link: _Link | None = None
        self._pause = FIRST_PAUSE
        self._not_before = 0.0
        self._trouble: Exception | None = None
        self._was_attached = False
        self._peer_max = MAX_FRAME

    # --- what a user calls ---

    @property
    def session(self) -> str | None:
        """The session's name, once attached."""
        return self.ledger.session

    @property
    def cursor(self) -> int | None:
        """The number up to which everything was heard. To go on later, keep the last `seq` you were done with."""
        return self.ledger.cursor

    def ask(self, text: str, timeout: float | None = ANSWER_WAIT) -> Message:
        """Says something and waits for its answer. Raises `Refused`, or `TimeoutError`."""
        return self.wait(self.prompt(text), timeout)

    def prompt(self, text: str) -> Id:
        """Says something and does not wait; `wait` takes the id."""
        return self.send(plist(type=Symbol(":EVENT"), payload=plist(sensor=keyword("user-prompt"), text=text)))

    def request(
        self, payload: list[Value], target: str | None = None, timeout: float | None = ANSWER_WAIT
    ) -> Message:
        """Asks an actuator for something and waits for the answer. Raises `Refused`, or `TimeoutError`."""
        form = plist(type=Symbol(":REQUEST"), target=keyword(target) if target else None, payload=payload)
        return self.wait(self.send(form), timeout)

    def send(self, form: list[Value], id: Id | None = None) -> Id:
        """Says any message of this protocol, under an id that is new unless given. It will arrive, once."""
        if id is None:
            id = self.ledger.new_id()
        self.ledger.say(id, form[:2] + plist(id=id) + form[2:])
        self._say_due()
        return id

    def wait(self, id: Id, timeout: float | None = ANSWER_WAIT) -> Message:
        """The answer to what was said under an id. Raises `Refused`, or `TimeoutError`; None waits for ever."""
        saying = self.ledger.sayings[id]
        self._until(lambda: saying.answer is not None, timeout, f"no answer to `{id}`")
        del self.ledger.sayings[id]
        assert saying.answer is not None, "waited for it"
        refusal = saying.answer.refusal()
        if refusal:
            raise refusal
        return saying.answer

    def events(self, timeout: float | None = None) -> Iterator[Message]:
        """Numbered events, each once and in order; ends when none came for that many seconds."""
        while True:
            try:
                self._until(lambda: bool(self._queue), timeout, "no event", is_look=True)
            except CannotConnect:
                raise
            except TimeoutError:
                return
            yield self._queue.popleft()

    def attach(self, timeout: float | None = ANSWER_WAIT) -> None:
        """Waits until the session is attached. Not needed before anything else."""
        self._until(lambda: self._link is not None and self._link.attached, timeout, "not attached")

    def answer(self, question: Question, verdict: str) -> None:
        """Answers a question that was left open: `allow` or `deny`."""
        response = _verdict(question, verdict)
        self.ledger.keep_answer(question.id, response)
        self._write(response)

    def preview_grant(
        self, question: Question, scope: str, span: str = "7d", timeout: float | None = ANSWER_WAIT
    ) -> Message:
        """What allowing a question in a scope for a time (`30m`, `12h`, `7d`) would mean. Changes nothing."""
        payload = _grant(question, scope, span)
        return self.request(payload + plist(preview=True), "system", timeout)

    def grant(
        self, question: Question, scope: str, span: str = "7d", timeout: float | None = ANSWER_WAIT
    ) -> Message:
        """Allows a question, and what its scope says for a time: for owners. The payload has `:sentence`."""
        answer = self.request(_grant(question, scope, span), "system", timeout)
        self.ledger.end_request(question.id)
        return answer

    def grants(self, timeout: float | None = ANSWER_WAIT) -> list[Value]:
        """What is allowed without asking, as property lists with `:grant`, `:sentence` and `:until`."""
        answer = self.request(plist(action=keyword("grants")), "system", timeout)
        grants = get(answer.payload, "grants")
        return grants if isinstance(grants, list) else []

    def revoke_grant(self, grant: str, timeout: float | None = ANSWER_WAIT) -> Message:
        """Takes a grant back by its id, or all that are over by the id `expired`."""
        return self.request(plist(action=keyword("revoke-grant"), grant=grant), "system", timeout)

    def pump(self, timeout: float) -> None:
        """Takes what has come, waiting so many seconds at most: for programs with a loop of their own."""
        deadline = time.monotonic() + timeout
        if self._link is None and not self._connect(deadline):
            return
        assert self._link is not None, "connected above"
        try:
            if self._later:
                deadline = min(deadline, self._later[0][0])
            for text in self._link.receive(max(0.0, deadline - time.monotonic())):
                self._take(text)
            self._say_again(time.monotonic())
            self._say_due()
        except (Disconnected, FrameError) as error:
            self._trouble = error
            self._drop()

    def close(self) -> None:
        """Ends the connection. What was acknowledged is done all the same."""
        if self._link:
            self._link.close()
            self._link = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- connections ---

    def _until(self, done: Callable[[], bool], timeout: float | None, what: str, is_look: bool = False) -> None:
        began = time.monotonic()
        deadline = None if timeout is None else began + timeout
        while not done():
            now = time.monotonic()
            left = HELLO_WAIT if deadline is None else deadline - now
            is_lost = self._trouble is not None and not self._was_attached and now - began >= FIRST_WAIT
            if is_lost or left <= 0:
                # A look may end before a connection stands; a daemon that was there once is waited for.
                if is_lost or (self._trouble is not None and not self._was_attached and not is_look):
                    raise CannotConnect(f"cannot connect to `{self.address}`: {self._trouble}")
                raise TimeoutError(what)
            self.pump(min(left, 1.0))

    def _connect(self, deadline: float) -> bool:
        """Makes a connection and says hello; false when there is none before the deadline."""
        now = time.monotonic()
        if now < self._not_before:
            time.sleep(max(0.0, min(self._not_before, deadline) - now))
            if time.monotonic() < self._not_before:
                return False
        try:
            self._link = _Link(self.address, self.key, self.ledger.hello)
            self.ledger.connection += 1
            if not self.key:
                self._hello(None)
            return self._link is not None
        except (OSError, Disconnected) as error:
            self._trouble = error
            self._drop()
            return False

    def _hello(self, auth: Value | None) -> None:
        self._send_text(write(self.ledger.hello.form(self.ledger.session, self.ledger.cursor, auth)))

    def _drop(self) -> None:
        """The connection is gone: the next one comes after a pause, longer each time."""
        self.close()
        self._not_before = time.monotonic() + self._pause * random.uniform(0.5, 1.0)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _write(self, form: Value) -> None:
        """Says something now, if somebody is there; what must arrive is in the ledger."""
        if self._link and self._link.attached:
            self._send_text(write(form))

    def _send_text(self, text: str) -> None:
        assert self._link is not None, "called with a connection"
        try:
            for payload in in_parts(text, secrets.token_hex(4), self._peer_max):
                self._link.send(payload)
        except Disconnected:
            self._drop()

    def _say_due(self) -> None:
        if self._link is None or not self._link.attached:
            return
        for saying in self.ledger.due():
            if self._link is None:
                return
            saying.connection = self.ledger.connection
            self._send_text(write(saying.form))

    # --- messages ---

    def _take(self, text: str) -> None:
        link = self._link
        if link is None:
            return
        try:
            message = Message.parse(text)
            if get(message.form, "part") is not None:
                whole = link.parts.take(message.form)
                if whole is None:
                    return
                message = Message.parse(whole)
        except SexpError as error:
            # One bad frame must not cost a session: the next connection goes on behind the cursor.
            raise Disconnected(f"the daemon sent what is no form: {error}") from error
        if not link.greeted:
            self._greeted(link, message)
        elif message.type == "response" and message.action == "handshake":
            self._attached(link, message)
        elif message.type == "status" and message.status == "admitted":
            self.ledger.receipt(message)
        elif message.seq is not None:
            self._numbered(message.seq, message)
        elif message.type == "response" and message.status == "error":
            self._refused(link, message)
        elif message.type == "response" and message.id in self.ledger.sayings:
            # Some answers of the daemon itself are not recorded and have no number.
            self.ledger.sayings[message.id].answer = message
        else:
            self._shown(message)

    def _shown(self, message: Message) -> None:
        """Takes what is shown while it is made, if a message is that."""
        piece, thought = Piece.of(message), voided(message)
        if thought is not None:
            self._pieces.void(thought)
            if self.on_void:
                self.on_void(thought)
        new = self._pieces.take(piece) if piece else None
        if new is None:
            return
        if self.on_piece:
            self.on_piece(new)
        # Other channels show the way to the answer, not the answer.
        if self.on_delta and new.channel == "text":
            self.on_delta(new.text)

    def _greeted(self, link: _Link, message: Message) -> None:
        """Takes the daemon's hello, and answers it when frames are signed."""
        refusal = message.refusal()
        if refusal:
            # It ends, or serves as many as it can.
            raise Disconnected(str(refusal))
        if message.action != "handshake":
            raise ProtocolError("expected the daemon's hello")
        link.greeted = True
        limit = get(get(message.payload, "limits"), "max-frame")
        self._peer_max = min(limit, MAX_FRAME) if isinstance(limit, int) and limit > 0 else MAX_FRAME
        if self.key:
            nonce = _nonce(get(message.payload, "auth"))
            if nonce is None:
                raise ProtocolError("this daemon does not sign")
            self._hello(link.sign_connection(self.key, nonce))

    def _attached(self, link: _Link, message: Message) -> None:
        refusal = message.refusal()
        if refusal:
            raise refusal
        self.ledger.attached(message)
        link.attached = True
        self._trouble = None
        self._was_attached = True
        self._pause = FIRST_PAUSE

    def _numbered(self, seq: int, message: Message) -> None:
        is_new = self.ledger.numbered(seq, message)
        self.ledger.outcome(message)
        if message.type == "request" and message.id is not None:
            self._requested(message, message.id)
        if is_new and self._keep_events:
            if len(self._queue) >= MAX_QUEUED:
                raise ProtocolError(f"{MAX_QUEUED} events wait and nobody takes them")
            self._queue.append(message)

    def _requested(self, message: Message, id: Id) -> None:
        """Carries out a request once; offered again, it gets the same answer."""
        if self.ledger.is_over(id):
            return
        if id in self.ledger.answered:
            self._write(self.ledger.answered[id])
            return
        if message.target == "approval":
            response = self._judged(message, str(id))
        elif self.on_request:
            response = plist(type=Symbol(":RESPONSE"), id=id, payload=_carried_out(self.on_request, message))
        else:
            payload = plist(status=keyword("denied"), message="this shell carries nothing out")
            response = plist(type=Symbol(":RESPONSE"), id=id, payload=payload)
        if response is not None:
            self.ledger.keep_answer(id, response)
            self._write(response)

    def _judged(self, message: Message, id: str) -> list[Value] | None:
        question = _question(message, id)
        verdict = self.on_approval(question) if self.on_approval else None
        return None if verdict is None else _verdict(question, verdict)

    def _refused(self, link: _Link, message: Message) -> None:
        refusal = message.refusal()
        assert refusal is not None, "the status is an error"
        saying = self.ledger.sayings.get(message.id) if message.id is not None else None
        if saying is not None and saying.answer is None:
            if refusal.code in FOR_NOW or refusal.retryable:
                self._say_later(saying)
            else:
                saying.answer = message
        elif message.id is not None:
            # An answer to a request that has ended meanwhile, or is not open yet after a restart: what is
            # still wanted is asked for again.
            return
        elif not link.attached and not (refusal.code in FOR_NOW or refusal.retryable):
            raise refusal
        else:
            raise Disconnected(str(refusal))

    def _say_later(self, saying: Saying) -> None:
        self._later.append((time.monotonic() + AGAIN, saying))

    def _say_again(self, now: float) -> None:
        """Makes due what was refused for now, long enough ago."""
        while self._later and self._later[0][0] <= now:
            self._later.popleft()[1].connection = 0


def _nonce(auth: Value) -> str | None:
    """Out of `(:hmac 1 2 :nonce "..")`, which is no property list: it has several versions."""
    if isinstance(auth, list):
        for name, value in zip(auth, auth[1:]):
            if isinstance(name, Symbol) and name.matches(":nonce") and isinstance(value, str):
                return value
    return None


def _carried_out(on_request: Answers, message: Message) -> list[Value]:
    try:
        return plist(status=keyword("success"), result=on_request(message))
    except Exception as error:  # whatever fails in a handler is the answer, not the end of the shell
        return plist(status=keyword("error"), message=f"{type(error).__name__}: {error}")


def _question(message: Message, id: str) -> Question:
    def text(key: str) -> str:
        value = get(message.payload, key)
        return value if isinstance(value, str) else str(value or "").lstrip(":")

    deadline = get(message.meta, "deadline")
    return Question(
        id, text("question"), text("risk"), text("target"), get(message.payload, "wanted"), text("hash"),
        deadline if isinstance(deadline, int) else None, _scopes(get(message.payload, "scopes")),
    )


def _scopes(value: Value) -> tuple[Scope, ...]:
    scopes = []
    for entry in value if isinstance(value, list) else []:
        name, allows = word(get(entry, "scope")), get(entry, "allows")
        if name and isinstance(allows, str):
            scopes.append(Scope(name, allows))
    return tuple(scopes)


def _grant(question: Question, scope: str, span: str) -> list[Value]:
    # The hash makes sure that it is a yes to what was shown.
    payload = plist(action=keyword("grant"), approval=question.id, scope=keyword(scope), hash=question.hash or None)
    return payload + [keyword("for"), span]


def _verdict(question: Question, verdict: str) -> list[Value]:
    # Only the word itself is a yes; the hash makes sure that it is one to what was shown.
    payload = plist(verdict=keyword("allow" if verdict == "allow" else "deny"), hash=question.hash or None)
    return plist(type=Symbol(":RESPONSE"), id=question.id, payload=payload)


class _Link:
    """One connection."""

    def __init__(self, address: str, key: Key | None, hello: Hello) -> None:
        self.socket = _dial(address)
        self.decoder = Decoder(Seal(key.secret) if key else None, hello.unit, hello.max_frame)
        self.seal: Seal | None = None
        self.unit = hello.unit
        self.parts = Parts()
        self.greeted = False
        self.attached = False
        self.hello_until = time.monotonic() + HELLO_WAIT
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.socket, selectors.EVENT_READ)

    def sign_connection(self, key: Key, server_nonce: str) -> Value:
        """Signs with version 2 from here on, and gives what the hello says about it."""
        nonce = secrets.token_hex(16)
        nonces: tuple[bytes, bytes] = (nonce.encode(), server_nonce.encode())
        self.seal = ConnectionSeal(key.secret, b"C", *nonces)
        self.decoder.seal = ConnectionSeal(key.secret, b"S", *nonces)
        return plist(hmac=2, key=key.id, nonce=nonce, answer=server_nonce)

    def send(self, payload: str) -> None:
        try:
            self.socket.sendall(encode(payload, self.seal, self.unit))
        except OSError as error:
            raise Disconnected(str(error)) from error

    def receive(self, timeout: float) -> Iterator[str]:
        """The payloads that have come; waits so long for the first byte."""
        if not self.attached:
            left = self.hello_until - time.monotonic()
            if left <= 0:
                raise Disconnected("no answer to the hello")
            timeout = min(timeout, left)
        if not self.selector.select(timeout):
            return
        try:
            data = self.socket.recv(CHUNK)
        except OSError as error:
            raise Disconnected(str(error)) from error
        if not data:
            raise Disconnected("closed by the daemon")
        self.decoder.feed(data)
        while True:
            payload = self.decoder.next()
            if payload is None:
                return
            yield payload

    def close(self) -> None:
        self.selector.close()
        self.socket.close()


def _dial(address: str) -> socket.socket:
    if "/" in address:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(CONNECT_WAIT)
        try:
            link.connect(address)
        except OSError:
            link.close()
            raise
    else:
        host, _, port = address.rpartition(":")
        link = socket.create_connection((host.strip("[]"), int(port)), CONNECT_WAIT)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link
