"""An agent over the official library of PyPI that says what it is told: a foreign agent for `bridle conform acp`.

What the library does not check, this agent does; the wire is the library's alone.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    run_agent,
    start_tool_call,
    text_block,
    update_agent_message,
    update_tool_call,
)
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)

OPTIONS = [
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class EchoAgent:
    def __init__(self) -> None:
        self.client: Any = None
        self.turns: dict[str, asyncio.Task[Any] | None] = {}

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="echo", version="1"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        if not cwd.startswith("/"):
            raise RequestError.invalid_params({"cwd": "expected an absolute folder"})
        session = uuid.uuid4().hex
        self.turns[session] = None
        return NewSessionResponse(session_id=session)

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        if session_id not in self.turns:
            raise RequestError.resource_not_found(session_id)
        if any(block.type in ("image", "audio") for block in prompt):
            raise RequestError.invalid_params({"prompt": "expected text"})
        text = "".join(block.text for block in prompt if block.type == "text")
        turn = asyncio.ensure_future(self.answer(session_id, text))
        self.turns[session_id] = turn
        try:
            await turn
        except asyncio.CancelledError:
            return PromptResponse(stop_reason="cancelled")
        finally:
            self.turns[session_id] = None
        return PromptResponse(stop_reason="end_turn")

    async def answer(self, session: str, text: str) -> None:
        if "slow" in text:
            for _ in range(20):
                await self.say(session, "more ")
                await asyncio.sleep(0.1)
        elif "tool" in text:
            await self.use_tool(session)
        else:
            await self.say(session, f"You said {text}")

    async def say(self, session: str, text: str) -> None:
        await self.client.session_update(session, update_agent_message(text_block(text)))

    async def use_tool(self, session: str) -> None:
        call = uuid.uuid4().hex
        started = start_tool_call(call, "edit notes", kind="edit", status="pending")
        await self.client.session_update(session, started)
        status = "failed"
        try:
            question = ToolCallUpdate(tool_call_id=call, title="edit notes")
            answer = await self.client.request_permission(session_id=session, tool_call=question, options=OPTIONS)
            if answer.outcome.outcome == "selected" and answer.outcome.option_id == "yes":
                status = "completed"
        except (RequestError, ValueError):
            pass
        finally:
            await self.client.session_update(session, update_tool_call(call, status=status))

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        turn = self.turns.get(session_id)
        if turn:
            turn.cancel()


asyncio.run(run_agent(EchoAgent()))
