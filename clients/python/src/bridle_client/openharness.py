"""An OpenHarness Shell over HTTP: blocking, with the standard library alone.

    engine = Engine("http://127.0.0.1:8788")
    print(engine.ask("help", session_id="desk").text)

What the Engine wants done is done by functions that are registered by their `action_type`; everything else
it may want is shown as a notice and never acts. The rules are in `shell.Shell` and `perform.Performance`.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import Empty, Queue
from typing import Any, Callable
from urllib.parse import urlsplit

from .perform import Abilities, Ask, Done, Execute, Notice, Render, Withdraw
from .response import Json
from .shell import Action, Failed, Intent, Log, Profile, Send, Shell, Wait
from .stream import Display, EventParser, Progress

PATH = "/v1/openharness"
"""Where an Engine answers, unless its address says more."""
MAX_BODY = 4 << 20
"""Bytes of an answer."""
ANSWER_WAIT = 660.0
"""Seconds for an answer, or for the next bytes of a stream. An Engine of bridle gives up after 600."""
CONNECT_WAIT = 10.0
"""Seconds for a connection to stand."""
WORKERS = 8
"""Actions that run side by side."""

_TROUBLE = (OSError, http.client.HTTPException, ValueError)
_LOCAL = ("127.0.0.1", "localhost", "::1")

Handler = Callable[[Json], Any]
"""Carries out a payload and gives what is reported of it; an exception is a failure."""


class Ui:
    """What a person sees and is asked. This one collects nothing and approves nothing: derive your own."""

    can_ask = False
    """Whether `ask` reaches a person."""

    def render(self, text: str, format: str) -> None:
        """Shows a message. Even markdown must load and run nothing."""

    def display(self, text: str) -> None:
        """Shows a message as far as it has come; `render` follows with the whole."""

    def progress(self, label: str) -> None:
        """Shows what the Engine is doing."""

    def notice(self, code: str, text: str | None) -> None:
        """Tells of something that was not done, or is done with caution."""

    def ask(self, question: Ask, timeout: float | None) -> str | None:
        """`allow`, or the id of an option; anything else is a no. After `timeout` seconds it is too late."""
        return None


@dataclass
class Turn:
    """What became of something asked."""

    texts: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    error: Failed | None = None

    @property
    def text(self) -> str:
        """All messages that were shown."""
        return "\n".join(self.texts)


class Engine:
    """An Engine at an address, and this Shell's side of it. Not for several threads at once."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        ui: Ui | None = None,
        acts: Mapping[str, Handler] | None = None,
        renders: Mapping[str, Handler] | None = None,
        parallel: bool = False,
        ask_from: str = "dangerous",
        profile: Profile | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`acts` have effects, `renders` only show; both are by exact `action_type`.

        Raises `ValueError` for a token that would travel in the clear.
        """
        self._https, self._host, self._path = _address(url)
        if token and not self._https and urlsplit(url).hostname not in _LOCAL:
            raise ValueError("a token is sent over https, or on this machine")
        self._token = token
        self._tls = tls
        self._ui = ui or Ui()
        self._handlers: dict[str, Handler] = {**(renders or {}), **(acts or {})}
        abilities = Abilities(frozenset(acts or ()), frozenset(renders or ()), self._ui.can_ask, parallel, ask_from)
        self.shell = Shell(abilities, profile or Profile(stream=True))
        self._pool = ThreadPoolExecutor(WORKERS if parallel else 1, "openharness")
        self._ended: Queue[tuple[int, bool, Any, Json | None]] = Queue()
        self._running = 0
        self._question: Ask | None = None
        self._trouble: Exception | None = None

    def ask(self, user_intent: str, session_id: str | None = None, **more: Any) -> Turn:
        """Asks for something, and carries out what comes back; `more` are fields of `Intent`."""
        return self.follow(self.shell.ask(Intent(user_intent, session_id, **more), _unix_ms()))

    def follow(self, actions: list[Action]) -> Turn:
        """Carries out actions of the shell, and all that follows from them."""
        turn = Turn()
        self._do(actions, turn)
        while self.shell.busy or self._running:
            self._do(self._next(), turn)
        return turn

    def discover(self) -> Json:
        """What the Engine offers."""
        link = self._link()
        try:
            answer = self._request(link, "GET", None, {"Accept": "application/json"})
            body = _json(answer.read(MAX_BODY + 1))
        finally:
            link.close()
        if answer.status != 200 or not isinstance(body, dict):
            raise OSError(f"the Engine answered {answer.status}")
        return body

    def close(self) -> None:
        """Lets go of the threads."""
        self._pool.shutdown()

    # --- the loop ---

    def _next(self) -> list[Action]:
        """Waits for whatever happens next."""
        if self._question is not None:
            question, self._question = self._question, None
            answer = self._ui.ask(question, self._time_left())
            return self.shell.answered(question.directive, answer, _now())
        if self._running:
            try:
                at, ok, output, error = self._ended.get(timeout=self._time_left())
            except Empty:
                return self.shell.wake(_now())
            self._running -= 1
            return self.shell.finished(at, ok, _now(), output, error)
        time.sleep(self._time_left() or 0.0)
        return self.shell.wake(_now())

    def _time_left(self) -> float | None:
        wakes_at = self.shell.wakes_at
        return None if wakes_at is None else max(0.0, (wakes_at - _now()) / 1000)

    def _do(self, actions: list[Action], turn: Turn) -> None:
        for action in actions:
            if isinstance(action, Send):
                self._send(action, turn)
            elif isinstance(action, Render):
                turn.texts.append(action.text)
                self._ui.render(action.text, action.format)
            elif isinstance(action, Notice):
                self._ui.notice(action.code, action.text)
            elif isinstance(action, Display):
                self._ui.display(action.text)
            elif isinstance(action, Progress):
                self._ui.progress(action.label)
            elif isinstance(action, Ask):
                self._question = action
            elif isinstance(action, Withdraw):
                self._question = None
            elif isinstance(action, Execute):
                self._running += 1
                self._pool.submit(self._execute, action)
            elif isinstance(action, Done):
                turn.outcomes += action.outcomes
            elif isinstance(action, Failed):
                turn.error = self._explained(action)
            else:
                assert isinstance(action, (Wait, Log)), "the loop waits by itself, and keeps no log"

    def _explained(self, failed: Failed) -> Failed:
        """A failure of the transport with where it was, and what the system said."""
        if failed.code != "transport_error" or self._trouble is None:
            return failed
        what = "cannot connect to" if isinstance(self._trouble, _CannotConnect) else "no whole answer from"
        return replace(failed, message=f"{what} `{self._host}`: {self._trouble}")

    def _execute(self, action: Execute) -> None:
        try:
            output = self._handlers[action.action_type](action.payload)
            self._ended.put((action.directive, True, output, None))
        except Exception as error:  # whatever fails in a handler is the outcome, not the end of the shell
            # Only the kind of trouble leaves the machine: texts of exceptions hold paths and values.
            self._ended.put((action.directive, False, None, {"code": "failed", "message": type(error).__name__}))

    # --- HTTP ---

    def _send(self, send: Send, turn: Turn) -> None:
        headers = {"Content-Type": "application/json"}
        headers["Accept"] = "text/event-stream, application/json" if send.stream else "application/json"
        if send.last_event_id is not None:
            headers["Last-Event-ID"] = str(send.last_event_id)
        body = json.dumps(send.body, ensure_ascii=False).encode("utf-8")
        self._trouble = None
        link = self._link()
        try:
            for actions in self._answers(link, body, headers):
                self._do(actions, turn)
        finally:
            link.close()

    def _answers(
        self, link: http.client.HTTPConnection, body: bytes, headers: dict[str, str]
    ) -> Iterator[list[Action]]:
        """What follows from the answer, piece by piece. What fails here is the transport, and nothing else."""
        try:
            answer = self._request(link, "POST", body, headers)
            if answer.headers.get_content_type() != "text/event-stream":
                message = _json(answer.read(MAX_BODY + 1))
                yield self.shell.replied(message, _now(), _unix_ms(), answer.headers.get("Retry-After"))
                return
        except _TROUBLE as error:
            self._trouble = error
            yield self.shell.cut(_now())
            return
        self.shell.opened()
        parser = EventParser()
        while self.shell.awaits_answer:
            try:
                data = answer.read1(65_536)
                events = parser.feed(data)
            except _TROUBLE as error:
                self._trouble = error
                data, events = b"", []
            for event in events:
                yield self.shell.event(event.name, _json(event.data.encode()), _now(), _unix_ms())
            if not data:
                yield self.shell.cut(_now())
                return

    def _link(self) -> http.client.HTTPConnection:
        if self._https:
            return http.client.HTTPSConnection(self._host, timeout=CONNECT_WAIT, context=self._tls)
        return http.client.HTTPConnection(self._host, timeout=CONNECT_WAIT)

    def _request(
        self, link: http.client.HTTPConnection, method: str, body: bytes | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        if self._token:
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        try:
            link.connect()
        except OSError as error:
            raise _CannotConnect(str(error)) from error
        link.sock.settimeout(ANSWER_WAIT)
        link.request(method, self._path, body, headers)
        return link.getresponse()


class _CannotConnect(OSError):
    """Nobody answers at the address."""


def _address(url: str) -> tuple[bool, str, str]:
    """Whether it is https, the host with its port, and the path."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise ValueError("expected an address such as `http://127.0.0.1:8788`")
    return parts.scheme == "https", parts.netloc, PATH if parts.path in ("", "/") else parts.path


def _json(data: bytes) -> Any:
    """The value of a JSON text; None for what is none, or is too large."""
    if len(data) > MAX_BODY:
        return None
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _now() -> float:
    return time.monotonic() * 1000


def _unix_ms() -> float:
    return time.time() * 1000
