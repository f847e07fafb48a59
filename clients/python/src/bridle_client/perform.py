"""Carries out the directives of one answer: what, in which order, after whose yes, and what became of it.

A `Performance` does nothing itself. It is told what happens (time passes, the user answers, an action has
ended) and says what to do next, so the same rules hold for every user interface, and the vectors of
`vectors/shell` can play any course of events. Times are milliseconds of a clock that never goes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from .response import TIERS, Directive, Json, Response
from .text import MAX_NOTICE, MAX_TEXT, first_text

MAX_DIRECTIVES = 256
"""Directives of one answer that are looked at; the others are `not_attempted`."""
MAX_OPTIONS = 16
"""Options of a question that are shown."""
KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
"""What an option of a question may stand for; another word counts as `reject_once`."""


@dataclass(frozen=True)
class Abilities:
    """What a Shell can do. `acts` have effects, `renders` only show; each is matched exactly.

    A user who can be asked makes `approval` true. `ask_from` is the lowest risk tier that asks by itself:
    a Shell may ask more often than the protocol wants, never less.
    """

    acts: frozenset[str] = frozenset()
    renders: frozenset[str] = frozenset()
    approval: bool = False
    parallel: bool = False
    ask_from: str = "dangerous"


@dataclass(frozen=True)
class Render:
    """Show this text. Even as `markdown` it loads and runs nothing."""

    directive: int
    text: str
    format: str


@dataclass(frozen=True)
class Notice:
    """Tell the user something about a directive."""

    directive: int
    code: str
    text: str | None = None


@dataclass(frozen=True)
class Ask:
    """Ask the user. A yes is for exactly this payload. With options, the answer is one of their ids."""

    directive: int
    action_type: str
    risk_tier: str
    payload: Json
    message: str | None = None
    options: list[Json] | None = None


@dataclass(frozen=True)
class Withdraw:
    """Take a question back: it is too late for an answer."""

    directive: int


@dataclass(frozen=True)
class Execute:
    """Carry this out, then say how it ended."""

    directive: int
    action_type: str
    payload: Json


@dataclass(frozen=True)
class Done:
    """Everything has ended: the outcome of each directive, and the results that the Engine wants to know."""

    outcomes: list[str]
    results: list[Json]


Step = Union[Render, Notice, Ask, Withdraw, Execute, Done]


@dataclass
class _Item:
    """A directive and what has become of it."""

    directive: Directive
    acts: bool
    known: bool
    state: str = "waiting"  # then `queued`, `asked`, `running`, `settled`
    outcome: str = ""
    extra: Json = field(default_factory=dict)


class Performance:
    """One answer, from its receipt to its last outcome."""

    def __init__(
        self, abilities: Abilities, response: Response, now: float, shown: dict[str, Json] | None = None
    ) -> None:
        """`shown` are messages that a stream has shown already, by directive id."""
        self._abilities = abilities
        self._received = now
        self._ok = response.ok
        self._shown = shown or {}
        known = abilities.acts | abilities.renders | {"render_message", "noop", "request_approval"}
        self._items = [
            _Item(it, it.action_type in abilities.acts, it.action_type in known) for it in response.directives
        ]
        self._groups = self._grouped()
        self._group = -1
        self._prompts: list[int] = []
        self._asked: int | None = None
        self._blocked = False
        self._steps: list[Step] = []
        self.done: Done | None = None

    @property
    def wakes_at(self) -> float | None:
        """When `tick` should be called, if nothing happens before."""
        waiting = self._prompts + ([] if self._asked is None else [self._asked])
        ends = [self._received + d for d in (self._items[at].directive.deadline_ms for at in waiting) if d is not None]
        return min(ends, default=None)

    @property
    def directives(self) -> list[Directive]:
        """What is being carried out."""
        return [item.directive for item in self._items]

    # --- what happens ---

    def start(self, now: float) -> list[Step]:
        """Begins."""
        for at, item in enumerate(self._items[MAX_DIRECTIVES:], MAX_DIRECTIVES):
            self._settle(item, "not_attempted")
            if at == MAX_DIRECTIVES:
                self._steps.append(Notice(at, "too_many_directives"))
        return self._go_on(now)

    def tick(self, now: float) -> list[Step]:
        """Time has passed."""
        if self._asked is not None and self._is_late(self._items[self._asked], now):
            self._steps.append(Withdraw(self._asked))
            self._settle(self._items[self._asked], "expired")
            self._asked = None
        return self._go_on(now)

    def answered(self, at: int, answer: str | None, now: float) -> list[Step]:
        """The user has answered a question: `allow`, the id of an option, or anything else, which is no."""
        if at != self._asked:
            return []
        self._asked = None
        item = self._items[at]
        if self._is_late(item, now):
            self._settle(item, "expired")
        elif item.directive.action_type == "request_approval":
            self._chosen(item, answer)
        elif answer == "allow":
            item.extra["decision"] = {"by": "user"}
            self._run(at)
        else:
            self._settle(item, "rejected", decision={"by": "user"})
        return self._go_on(now)

    def finished(
        self, at: int, ok: bool, now: float, output: Any = None, error: Json | None = None
    ) -> list[Step]:
        """Something that was carried out has ended."""
        if not 0 <= at < len(self._items) or self._items[at].state != "running":
            return []
        item = self._items[at]
        if ok:
            self._settle(item, "completed", **({} if output is None else {"output": output}))
        else:
            self._settle(item, "failed", error=error or {"code": "failed", "message": ""})
        return self._go_on(now)

    def cancel(self, now: float) -> list[Step]:
        """The user gives up: what has not begun does not begin."""
        if self._asked is not None:
            self._steps.append(Withdraw(self._asked))
            self._asked = None
        self._prompts.clear()
        for item in self._items:
            if item.state not in ("running", "settled"):
                self._settle(item, "cancelled")
        return self._go_on(now)

    # --- the course of things ---

    def _grouped(self) -> list[list[int]]:
        """Neighbors that may run side by side. What depends on a neighbor comes after it."""
        groups: list[list[int]] = []
        ids: list[str | None] = []
        was_parallel = False
        for at, item in enumerate(self._items[:MAX_DIRECTIVES]):
            directive = item.directive
            parallel = directive.parallel and self._abilities.parallel
            if not (parallel and was_parallel) or any(id in ids for id in directive.depends_on):
                groups.append([])
                ids = []
            groups[-1].append(at)
            ids.append(directive.directive_id)
            was_parallel = parallel
        return groups

    def _go_on(self, now: float) -> list[Step]:
        while self.done is None:
            self._next_prompt(now)
            current = self._groups[self._group] if self._group >= 0 else []
            if any(self._items[at].state != "settled" for at in current):
                break
            self._group += 1
            if self._group == len(self._groups):
                self._finish()
                break
            for at in self._groups[self._group]:
                if self._items[at].state == "waiting":
                    self._begin(at, now)
        steps, self._steps = self._steps, []
        return steps

    def _begin(self, at: int, now: float) -> None:
        item = self._items[at]
        directive = item.directive
        if not all(self._completed(id, at) for id in directive.depends_on):
            self._settle(item, "not_attempted")
        elif not item.known:
            text = first_text(directive.payload, ("fallback_message", "message"), MAX_NOTICE)
            self._steps.append(Notice(at, "unknown_action_type", text))
            self._settle(item, "skipped_unknown")
        elif directive.directive_id is not None and self._shown.get(directive.directive_id) == directive.raw:
            self._settle(item, "completed")
        elif item.acts and self._blocked or not self._ok and not self._may_show(directive):
            self._settle(item, "not_attempted")
        elif self._is_late(item, now, at_once=True):
            self._settle(item, "expired")
        else:
            self._admit(at, item)

    def _completed(self, id: str, before: int) -> bool:
        earlier = self._items[:before]
        return any(it.directive.directive_id == id and it.outcome == "completed" for it in earlier)

    def _may_show(self, directive: Directive) -> bool:
        """After an error nothing is done and nobody is asked, but words may be shown."""
        return directive.action_type == "render_message" and not self._asks(directive)

    def _asks(self, directive: Directive) -> bool:
        by_tier = TIERS.index(directive.risk_tier) >= TIERS.index(self._abilities.ask_from)
        return directive.needs_approval or by_tier

    def _admit(self, at: int, item: _Item) -> None:
        directive = item.directive
        is_question = directive.action_type == "request_approval"
        if not is_question and not self._asks(directive):
            if directive.risk_tier == "caution":
                self._steps.append(Notice(at, "caution"))
            self._run(at)
        elif is_question and question_options(directive.payload) is None:
            self._settle(item, "failed", error={"code": "invalid_payload", "message": "no question with options"})
        elif not self._abilities.approval:
            error = {"code": "approval_unavailable", "message": "nobody can be asked here"}
            self._settle(item, "rejected", error=error, decision={"by": "policy"})
        elif directive.deadline_ms == 0:
            self._settle(item, "expired")
        else:
            item.state = "queued"
            self._prompts.append(at)

    def _next_prompt(self, now: float) -> None:
        """Questions come one at a time, in order; those that are too late are not asked."""
        for at in [at for at in self._prompts if self._is_late(self._items[at], now)]:
            self._prompts.remove(at)
            self._settle(self._items[at], "expired")
        if self._asked is not None or not self._prompts:
            return
        at = self._asked = self._prompts.pop(0)
        item = self._items[at]
        item.state = "asked"
        directive = item.directive
        message = options = None
        if directive.action_type == "request_approval":
            message = first_text(directive.payload, ("message", "title", "fallback_message"), MAX_NOTICE)
            options = question_options(directive.payload)
        self._steps.append(
            Ask(at, directive.action_type, directive.risk_tier, directive.payload, message, options)
        )

    def _is_late(self, item: _Item, now: float, at_once: bool = False) -> bool:
        """Whether the time to begin is over; a deadline of 0 lets begin what begins at once."""
        deadline = item.directive.deadline_ms
        if deadline is None:
            return False
        passed = now - self._received
        return not (at_once and deadline == 0 and passed == 0) and passed >= deadline

    def _chosen(self, item: _Item, answer: str | None) -> None:
        options = question_options(item.directive.payload) or []
        option = next((it for it in options if it["option_id"] == answer), None)
        allowed = option is not None and option["kind"].startswith("allow")
        decision: Json = {"by": "user"}
        if option is not None:
            decision["option_id"] = option["option_id"]
        self._settle(item, "completed" if allowed else "rejected", decision=decision)

    def _run(self, at: int) -> None:
        item = self._items[at]
        directive = item.directive
        if directive.action_type == "render_message":
            rendered = render(at, directive.payload)
            if rendered is None:
                self._settle(item, "failed", error={"code": "invalid_payload", "message": "no text"})
            else:
                self._steps.append(rendered)
                self._settle(item, "completed")
        elif directive.action_type == "noop":
            self._settle(item, "completed")
        else:
            item.state = "running"
            self._steps.append(Execute(at, directive.action_type, directive.payload))

    def _settle(self, item: _Item, outcome: str, **extra: Any) -> None:
        item.state = "settled"
        item.outcome = outcome
        item.extra.update(extra)
        if item.acts and not item.directive.parallel and outcome in ("failed", "rejected", "expired"):
            self._blocked = True

    def _finish(self) -> None:
        results = []
        for item in self._items:
            if item.directive.directive_id is not None and item.directive.result != "none":
                result = {"directive_id": item.directive.directive_id, "outcome": item.outcome}
                results.append({**result, **item.extra})
        self.done = Done([item.outcome for item in self._items], results)
        self._steps.append(self.done)


def render(at: int, payload: Json) -> Render | None:
    """What a `render_message` shows, or None when it holds no text."""
    text = first_text(payload, ("text", "message", "fallback_message"), MAX_TEXT)
    format = "markdown" if payload.get("format") == "markdown" else "plain"
    return None if text is None else Render(at, text, format)


def question_options(payload: Json) -> list[Json] | None:
    """The options of a `request_approval`; None when there is nothing to choose."""
    options: list[Json] = []
    given = payload.get("options")
    for option in given[:MAX_OPTIONS] if isinstance(given, list) else []:
        id = option.get("option_id") if isinstance(option, dict) else None
        if not isinstance(id, str) or not id:
            return None
        kind = option.get("kind") if option.get("kind") in KINDS else "reject_once"
        label = first_text(option, ("label",), MAX_NOTICE)
        options.append({"option_id": id, "label": label or kind, "kind": kind})
    return options or None


def is_plain_message(directive: Directive, abilities: Abilities) -> bool:
    """Whether a directive only shows words and may be shown as soon as it is whole."""
    gated = directive.needs_approval or TIERS.index(directive.risk_tier) >= TIERS.index(abilities.ask_from)
    waits = bool(directive.depends_on) or directive.deadline_ms is not None or directive.risk_tier == "caution"
    return directive.action_type == "render_message" and not gated and not waits
