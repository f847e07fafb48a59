"""An OpenHarness Shell without input or output: what to send, when to try again, what to show and do.

A `Shell` is told what happens and says what follows, like the `Performance` inside it. `openharness.Engine`
drives one over HTTP. Times are milliseconds of a clock that never goes back; `unix_ms` is the time of day.
"""

from __future__ import annotations

import random
import re
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Optional, Union

from .perform import Abilities, Done, Performance, Step
from .response import NAMESPACE, EngineError, InvalidResponse, Json, Response, parse, version
from .stream import PROFILE, Broken, Display, Progress, Stream

MAX_TRIES = 5
"""Times that one request is sent."""
FIRST_WAIT, LONGEST_WAIT = 500, 30_000
"""Milliseconds before a further try: they double from the first to the longest, less up to half at random."""
LONGEST_RETRY_AFTER = 300_000
"""Milliseconds that an Engine may ask to wait; longer, and the Shell gives up."""
MAX_ROUNDS = 16
"""Requests that follow a user's own by themselves, to report results."""
MAX_UNREPORTED = 256
"""Results that wait for the next request of a conversation."""

Key = tuple[Optional[str], Optional[str]]


@dataclass(frozen=True)
class Profile:
    """What a Shell says of itself in every request. `versions` are those it implements, highest first."""

    shell_kind: str = "command_shell"
    shell_version: str | None = None
    locale: str | None = None
    timezone: str | None = None
    versions: tuple[str, ...] = ("1.0.0",)
    stream: bool = False


@dataclass(frozen=True)
class Intent:
    """What the user wants. Without a `session_id`, nothing is remembered."""

    user_intent: str | None = None
    session_id: str | None = None
    conversation_id: str | None = None
    environment_state: Json | None = None
    attachments: list[Json] | None = None
    task_hint: Json | None = None
    timeout_ms: int | None = None

    @property
    def key(self) -> Key:
        return (self.session_id, self.conversation_id)


@dataclass(frozen=True)
class Send:
    """Send this message; `last_event_id` takes a stream up again."""

    body: Json
    stream: bool
    last_event_id: int | None = None


@dataclass(frozen=True)
class Wait:
    """Nothing to do until `wake`, unless the user gives up."""

    ms: int


@dataclass(frozen=True)
class Failed:
    """The request came to nothing. `message` is safe to show."""

    code: str
    message: str
    retryable: bool


@dataclass(frozen=True)
class Log:
    """Something for a log, not for the user."""

    code: str


Action = Union[Send, Wait, Failed, Log, Display, Progress, Step]


@dataclass
class _Exchange:
    """One request, until its answer has been carried out."""

    intent: Intent
    body: Json
    stream: Stream
    rounds: int
    tries: int = 1
    cuts: int = 0
    fell_back: bool = False
    ok: bool = False
    unix_offset: float = 0.0
    wakes_at: float | None = None
    performance: Performance | None = None


class Shell:
    """Talks to one Engine, one request at a time."""

    def __init__(
        self,
        abilities: Abilities,
        profile: Profile | None = None,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.abilities = abilities
        self.profile = profile or Profile()
        self._new_id = new_id
        self._jitter = jitter
        self._version = self.profile.versions[0]
        self._continuations: dict[Key, tuple[Json, float | None]] = {}
        self._unreported: dict[Key, list[Json]] = {}
        self._exchange: _Exchange | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is under way, or its answer being carried out."""
        return self._exchange is not None

    @property
    def awaits_answer(self) -> bool:
        """Whether a request is out and has no answer yet."""
        exchange = self._exchange
        return exchange is not None and exchange.performance is None and exchange.wakes_at is None

    @property
    def wakes_at(self) -> float | None:
        """When `wake` should be called, if nothing happens before."""
        exchange = self._exchange
        if exchange is None:
            return None
        return exchange.performance.wakes_at if exchange.performance else exchange.wakes_at

    # --- what happens ---

    def ask(self, intent: Intent, unix_ms: float) -> list[Action]:
        """The user wants something. Raises `RuntimeError` while the shell is busy."""
        if self.busy:
            raise RuntimeError("one request at a time")
        return [self._begin(intent, unix_ms, 0)]

    def replied(
        self, body: Any, now: float, unix_ms: float, retry_after: str | None = None
    ) -> list[Action]:
        """A whole message came; the status of HTTP does not matter. None stands for what is no JSON."""
        exchange = self._exchange
        if exchange is None or not self.awaits_answer:
            return []
        try:
            response = parse(body, exchange.body["request_id"])
        except InvalidResponse as error:
            return self._fail(EngineError(error.code, str(error), False))
        if not response.ok:
            trouble = response.error or EngineError("engine_error", "", False)
            again = self._other_version(exchange, response, trouble) or self._again(trouble, now, retry_after)
            if again:
                return again
        return self._perform(exchange, response, now, unix_ms)

    def opened(self) -> None:
        """A stream begins to come instead of a message: nothing follows from that alone."""

    def event(self, name: str, data: Any, now: float, unix_ms: float) -> list[Action]:
        """An event of the stream came."""
        exchange = self._exchange
        if exchange is None or not self.awaits_answer:
            return []
        before = exchange.stream.last_seq
        try:
            taken = exchange.stream.take(name, data)
        except Broken:
            return self.cut(now)
        if exchange.stream.last_seq != before:
            exchange.cuts = 0
        if isinstance(taken, dict):
            return self.replied(taken, now, unix_ms)
        return list(taken)

    def cut(self, now: float) -> list[Action]:
        """The connection failed, or ended before its time."""
        exchange = self._exchange
        if exchange is None or not self.awaits_answer:
            return []
        exchange.cuts += 1
        if exchange.stream.resumable and exchange.cuts < MAX_TRIES:
            return [self._pause(exchange, exchange.cuts, 0, now)]
        return self._fail(EngineError("transport_error", "the Engine cannot be reached", False))

    def wake(self, now: float) -> list[Action]:
        """Time has passed."""
        exchange = self._exchange
        if exchange is None:
            return []
        if exchange.performance:
            return self._after(exchange.performance.tick(now), now)
        if exchange.wakes_at is None or now < exchange.wakes_at:
            return []
        exchange.wakes_at = None
        return [Send(exchange.body, self.profile.stream, exchange.stream.last_seq)]

    def answered(self, directive: int, answer: str | None, now: float) -> list[Action]:
        """The user has answered a question: `allow`, the id of an option, or anything else, which is no."""
        performance = self._exchange.performance if self._exchange else None
        return self._after(performance.answered(directive, answer, now), now) if performance else []

    def finished(
        self, directive: int, ok: bool, now: float, output: Any = None, error: Json | None = None
    ) -> list[Action]:
        """Something that was carried out has ended."""
        performance = self._exchange.performance if self._exchange else None
        if not performance:
            return []
        return self._after(performance.finished(directive, ok, now, output, error), now)

    def cancel(self, now: float) -> list[Action]:
        """The user gives up."""
        exchange = self._exchange
        if exchange is None:
            return []
        if exchange.performance:
            return self._after(exchange.performance.cancel(now), now)
        return self._fail(EngineError("cancelled", "", False))

    # --- requests ---

    def _begin(self, intent: Intent, unix_ms: float, rounds: int) -> Send:
        self._exchange = _Exchange(intent, self._body(intent, unix_ms), Stream(self.abilities), rounds)
        return Send(self._exchange.body, self.profile.stream)

    def _body(self, intent: Intent, unix_ms: float) -> Json:
        context = _present(
            session_id=intent.session_id,
            conversation_id=intent.conversation_id,
            user_intent=intent.user_intent,
            shell=_present(
                shell_kind=self.profile.shell_kind,
                shell_version=self.profile.shell_version,
                locale=self.profile.locale,
                timezone=self.profile.timezone,
            ),
            task_hint=intent.task_hint,
            # State that nobody has judged is not for everybody.
            environment_state=intent.environment_state
            and {"privacy_tier": "restricted", **intent.environment_state},
            attachments=intent.attachments,
            continuation=self._take_continuation(intent.key, unix_ms),
        )
        own = _present(directive_results=self._unreported.pop(intent.key, None), timeout_ms=intent.timeout_ms)
        if own:
            context["extensions"] = {NAMESPACE: own}
        return {
            "protocol_version": self._version,
            "request_id": self._new_id(),
            "capabilities": self._capabilities(),
            "request": {"context": context},
        }

    def _capabilities(self) -> Json:
        capabilities: Json = {f"{NAMESPACE}.feedback": {"version": 1}}
        if self.abilities.approval:
            capabilities["openharness.ui.approval"] = True
        if self.abilities.parallel:
            capabilities["openharness.actions.parallel"] = True
        if self.profile.stream:
            capabilities["openharness.streaming"] = {"profiles": [PROFILE]}
        return capabilities

    def _take_continuation(self, key: Key, unix_ms: float) -> Json | None:
        """The step to go on with, once, unless it is over."""
        token, ends = self._continuations.pop(key, (None, None))
        return None if ends is not None and unix_ms >= ends else token

    def _other_version(self, exchange: _Exchange, response: Response, error: EngineError) -> list[Action]:
        """Tries once with a version that both know."""
        if error.code != "protocol_version_unsupported" or exchange.fell_back:
            return []
        offered = {version(text) for text in response.supported_versions}
        common = next((text for text in self.profile.versions if version(text) in offered), None)
        if common is None or common == exchange.body["protocol_version"]:
            return []
        exchange.fell_back = True
        self._version = common
        exchange.body = {**exchange.body, "protocol_version": common}
        return [Send(exchange.body, self.profile.stream)]

    def _again(self, error: EngineError, now: float, retry_after: str | None) -> list[Action]:
        """Tries again what the Engine calls retryable: the same request, later."""
        exchange = self._exchange
        if exchange is None or not error.retryable or exchange.tries >= MAX_TRIES:
            return []
        least = 0
        if retry_after is not None and re.fullmatch(r"[0-9]{1,9}", retry_after.strip(), flags=re.ASCII):
            least = int(retry_after) * 1000
        if least > LONGEST_RETRY_AFTER:
            return []
        # A new run has a new stream; what the last one has shown needs not be shown again.
        exchange.stream = Stream(self.abilities, shown=exchange.stream.shown)
        exchange.tries += 1
        return [self._pause(exchange, exchange.tries - 1, least, now)]

    def _pause(self, exchange: _Exchange, count: int, least: int, now: float) -> Wait:
        step = min(FIRST_WAIT * 2 ** (count - 1), LONGEST_WAIT)
        wait = Wait(max(least, round(step * (0.5 + 0.5 * self._jitter()))))
        exchange.wakes_at = now + wait.ms
        return wait

    # --- answers ---

    def _fail(self, error: EngineError) -> list[Action]:
        self._exchange = None
        return [Failed(error.code, error.message, error.retryable)]

    def _perform(self, exchange: _Exchange, response: Response, now: float, unix_ms: float) -> list[Action]:
        if response.continuation:
            ends = _unix_ms(response.continuation.get("expires_at"))
            self._continuations[exchange.intent.key] = (response.continuation, ends)
        actions: list[Action] = []
        if not response.ok:
            error = response.error or EngineError("engine_error", "", False)
            actions.append(Failed(error.code, error.message, error.retryable))
        elif response.error:
            actions.append(Log("success_with_error"))
        shown = exchange.stream.shown if response.ok else {}
        exchange.performance = Performance(self.abilities, response, now, shown)
        exchange.ok = response.ok
        exchange.unix_offset = unix_ms - now
        return actions + self._after(exchange.performance.start(now), now)

    def _after(self, steps: list[Step], now: float) -> list[Action]:
        """What follows the steps of a performance: at its end, results may have to go out at once."""
        exchange = self._exchange
        actions: list[Action] = list(steps)
        done = next((step for step in steps if isinstance(step, Done)), None)
        if done is None or exchange is None or exchange.performance is None:
            return actions
        self._exchange = None
        intent = exchange.intent
        if done.results:
            kept = self._unreported.get(intent.key, []) + done.results
            self._unreported[intent.key] = kept[-MAX_UNREPORTED:]
        required = any(it.result == "required" and it.directive_id for it in exchange.performance.directives)
        if required and exchange.ok:
            if exchange.rounds >= MAX_ROUNDS:
                return actions + [Failed("too_many_rounds", "the Engine asks for results again and again", False)]
            follow_up = Intent(None, intent.session_id, intent.conversation_id, timeout_ms=intent.timeout_ms)
            actions.append(self._begin(follow_up, now + exchange.unix_offset, exchange.rounds + 1))
        return actions


def _present(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _unix_ms(text: Any) -> float | None:
    """The time of an RFC 3339 text; None for anything else, which the Engine will judge."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", str(text), flags=re.ASCII)
    if not found:
        return None
    try:
        offset = "+00:00" if found[3] in "Zz" else found[3]
        return datetime.fromisoformat(found[1].upper() + offset).astimezone(timezone.utc).timestamp() * 1000
    except (ValueError, OverflowError):
        return None
