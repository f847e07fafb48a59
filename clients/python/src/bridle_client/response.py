"""Reads an answer of an Engine: of its shape, or not taken at all.

What a Shell must not misread fails closed: an unknown word counts as the one that does least harm, and
anything but `false` or absence asks the user. See `docs/protocol.md`, section 15.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .text import MAX_NOTICE, safe

NAMESPACE = "dev.bridle"
"""Where this profile keeps what version 1 has no place for."""
MAX_ID = 1_024
"""Characters of an id or a name."""
TIERS = ("safe", "caution", "dangerous")
"""Risk tiers, rising."""

Json = dict[str, Any]


class InvalidResponse(Exception):
    """The Engine's answer is none; nothing of it is carried out."""

    def __init__(self, reason: str, code: str = "invalid_response") -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class Directive:
    """One thing that the Engine wants done, with every choice already on the safe side."""

    raw: Json
    action_type: str
    payload: Json
    parallel: bool
    risk_tier: str
    needs_approval: bool
    deadline_ms: int | None
    directive_id: str | None
    result: str
    depends_on: tuple[str, ...]


@dataclass(frozen=True)
class EngineError:
    """Why the Engine could not; `retryable` only if it says so."""

    code: str
    message: str
    retryable: bool


@dataclass(frozen=True)
class Response:
    """One answer."""

    ok: bool
    directives: list[Directive] = field(default_factory=list)
    error: EngineError | None = None
    continuation: Json | None = None
    supported_versions: tuple[str, ...] = ()
    capabilities: Json = field(default_factory=dict)
    denials: list[Json] = field(default_factory=list)


def version(text: Any) -> tuple[int, int] | None:
    """Major and minor of `N.N.N[-pre][+build]`, or None."""
    if not isinstance(text, str) or len(text) > 128:
        return None
    found = re.fullmatch(
        r"([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", text, flags=re.ASCII
    )
    return (int(found[1]), int(found[2])) if found else None


def parse(message: Any, request_id: str | None = None) -> Response:
    """The answer in a message that answers `request_id`. Raises `InvalidResponse`."""
    if not isinstance(message, dict):
        raise InvalidResponse("expected an object")
    served = version(message.get("protocol_version"))
    if served is None:
        raise InvalidResponse("expected a `protocol_version` such as `1.0.0`")
    if served[0] != 1:
        raise InvalidResponse("an answer of another major version", "protocol_version_unsupported")
    answered = _text(message, "request_id", 65_536)
    if request_id is not None and answered is not None and answered != request_id:
        raise InvalidResponse("an answer to another request")
    body = _object(message, "response")
    if body is None:
        raise InvalidResponse("expected `response`")
    status = _text(body, "status")
    if status is None:
        raise InvalidResponse("expected a `status`")
    versions = _list(message, "supported_protocol_versions")
    if not all(version(text) for text in versions):
        raise InvalidResponse("expected versions in `supported_protocol_versions`")
    latency = body.get("engine_latency_ms")
    if latency is not None and not (_is_number(latency) and latency >= 0):
        raise InvalidResponse("expected a number for `engine_latency_ms`")
    denials = _list(message, "capability_denials")
    if not all(isinstance(denial, dict) and _text(denial, "capability") for denial in denials):
        raise InvalidResponse("expected a `capability` in each denial")
    own = _object(_object(body, "extensions") or {}, NAMESPACE) or {}
    return Response(
        status == "success",
        [read_directive(item) for item in _list(body, "action_directives")],
        _error(_object(body, "error")),
        _object(body, "continuation") or _object(own, "continuation"),
        tuple(versions),
        _object(message, "supported_capabilities") or {},
        denials,
    )


def read_directive(item: Any) -> Directive:
    """One directive. Raises `InvalidResponse`."""
    if not isinstance(item, dict):
        raise InvalidResponse("expected an object for a directive")
    action_type = _text(item, "action_type")
    if action_type is None:
        raise InvalidResponse("expected an `action_type`")
    tier = _text(item, "risk_tier")
    own = _object(_object(item, "extensions") or {}, NAMESPACE) or {}
    depends_on = _list(own, "depends_on")
    if not all(isinstance(id, str) for id in depends_on):
        raise InvalidResponse("expected ids in `depends_on`")
    _text(item, "priority")  # a hint that changes no order, but it has a shape
    return Directive(
        raw=item,
        action_type=action_type,
        payload=_object(item, "payload") or {},
        parallel=_text(item, "execution") == "parallel",
        risk_tier=tier if tier in TIERS else "safe" if tier is None else "dangerous",
        needs_approval="requires_user_approval" in item and item["requires_user_approval"] is not False,
        deadline_ms=integer(item, "deadline_ms"),
        directive_id=_text(own, "directive_id"),
        result=_text(own, "result") or "optional",
        depends_on=tuple(depends_on),
    )


def _error(error: Json | None) -> EngineError | None:
    if error is None:
        return None
    code = _text(error, "code")
    if code is None:
        raise InvalidResponse("expected an error with a `code`")
    retryable = error.get("retryable")
    if retryable is not None and not isinstance(retryable, bool):
        raise InvalidResponse("expected true or false for `retryable`")
    message = _text(error, "message", MAX_ID * MAX_ID, least=0)
    return EngineError(safe(code, MAX_NOTICE), safe(message or "", MAX_NOTICE), retryable is True)


def _text(holder: Json, key: str, most: int = MAX_ID, least: int = 1) -> str | None:
    value = holder.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise InvalidResponse(f"expected a text for `{key}`")
    return value


def _object(holder: Json, key: str) -> Json | None:
    value = holder.get(key)
    if value is None or isinstance(value, dict):
        return value
    raise InvalidResponse(f"expected an object for `{key}`")


def _list(holder: Json, key: str) -> list[Any]:
    value = holder.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidResponse(f"expected a list for `{key}`")
    return value


def integer(holder: Json, key: str) -> int | None:
    """An integer in any spelling of JSON; beyond 64 bits it counts as the largest. Raises `InvalidResponse`."""
    value = holder.get(key)
    if value is None:
        return None
    if not _is_number(value) or value != value:
        raise InvalidResponse(f"expected an integer for `{key}`")
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")) or abs(value) >= 2**63:
            return (2**63 - 1) if value > 0 else -(2**63)
        if value != int(value):
            raise InvalidResponse(f"expected an integer for `{key}`")
    return max(-(2**63), min(int(value), 2**63 - 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
