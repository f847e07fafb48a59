"""A whole conversation with the real `bridle acp` and a real daemon, over the official library of PyPI.

Its models of pydantic read every message; what does not fit ends the conversation. What is compared in depth is
in `conversation.mjs`: this one finds out whether a second, independent client comes through at all.

usage: conversation.py BRIDLE FOLDER
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    embedded_text_resource,
    resource_block,
    resource_link_block,
    spawn_agent_process,
    text_block,
)
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
)

HERE = Path(__file__).parent


def check(condition: object, what: str) -> None:
    if not condition:
        raise AssertionError(f"expected: {what}")


class Editor:
    """An editor that remembers what it is told, and answers by rule."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.questions: list[Any] = []
        self.buffers: dict[str, str] = {}
        self.choice: str | None = "allow_once"

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **kwargs: Any
    ) -> RequestPermissionResponse:
        self.questions.append((tool_call, options))
        if self.choice is None:
            await asyncio.Event().wait()
        for option in options:
            if self.choice in (option.kind, option.option_id):
                outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=outcome)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> ReadTextFileResponse:
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    def text(self, begin: int = 0) -> str:
        chunks = [it for it in self.updates[begin:] if it.session_update == "agent_message_chunk"]
        return "".join(it.content.text for it in chunks)

    def kinds(self, begin: int = 0) -> set[str]:
        return {it.session_update for it in self.updates[begin:]}


class Home:
    """A daemon with a folder of its own."""

    def __init__(self, bridle: str, folder: Path) -> None:
        self.bridle, self.folder = bridle, folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("home", "memex", "run", "state"):
            (folder / name).mkdir(parents=True, mode=0o700)
        self.notes = folder / "memex/notes.org"
        self.notes.write_text("* TODO One\n* TODO Two\n* TODO Three\n")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        self.address = f"unix:{folder}/b.sock"
        self.daemon: subprocess.Popen[str] | None = None

    def up(self) -> None:
        words = [self.bridle, "up", "--tcp", "off", "--http", "off", "--http-unix", "off"]
        words += ["--unix", f"{self.folder}/b.sock", "--state", f"{self.folder}/state"]
        words += ["--thinker", f"script:{HERE}/conversation.script", "--memex", f"{self.folder}/memex"]
        self.daemon = subprocess.Popen(
            words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.daemon.stdout
        for line in self.daemon.stdout:
            if "ready " in line:
                return
        raise AssertionError("a daemon that is ready")

    def end(self, how: signal.Signals) -> None:
        assert self.daemon
        self.daemon.send_signal(how)
        self.daemon.wait()

    def agent(self, editor: Editor) -> Any:
        words = ("acp", "--addr", self.address)
        return spawn_agent_process(editor, self.bridle, *words, env=self.env)


async def hello(agent: Any) -> Any:
    files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    return await agent.initialize(PROTOCOL_VERSION, ClientCapabilities(fs=files))


async def first(home: Home) -> str:
    """Prompts, an edit, a no, a cancel, a buffer that is not saved, a daemon that is killed."""
    editor = Editor()
    async with home.agent(editor) as (agent, process):
        greeting = await hello(agent)
        check(greeting.protocol_version == 1, "version 1")
        check(greeting.agent_capabilities.load_session, "loadSession")
        await agent.authenticate(greeting.auth_methods[0].id)
        session = (await agent.new_session(str(home.folder / "memex"))).session_id
        answer = await agent.prompt(session, [text_block("hello")])
        check(answer.stop_reason == "end_turn", "end_turn")
        check(editor.text() == "Hello, editor.", f"one greeting, got {editor.text()}")

        await agent.prompt(session, [text_block(f"mark line 1 as DONE in {home.notes}")])
        check(home.notes.read_text().startswith("* DONE One"), "a marked line")
        call, options = editor.questions[0]
        diffs = [it for it in call.content if it.type == "diff"]
        check(len(diffs) == 1 and diffs[0].path == str(home.notes), "a diff of the file")
        check(any(it.kind == "allow_always" for it in options), "scopes of a grant")
        check({"tool_call", "tool_call_update"} <= editor.kinds(), "a call and its end")

        editor.choice = "reject_once"
        await agent.prompt(session, [text_block(f"mark line 2 as DONE in {home.notes}")])
        check("* TODO Two" in home.notes.read_text(), "nothing marked after a no")

        await cancelled(agent, editor, session, "long", lambda: "begin" in editor.text())
        editor.choice = None
        asked = len(editor.questions)
        wish = f"mark line 3 as DONE in {home.notes}"
        await cancelled(agent, editor, session, wish, lambda: len(editor.questions) > asked)
        check("* TODO Three" in home.notes.read_text(), "nothing marked after a cancel")

        editor.choice = "allow_once"
        editor.buffers[str(home.notes)] = "not saved\n"
        link = resource_link_block("notes.org", home.notes.as_uri())
        await agent.prompt(session, [text_block("hello"), link])
        try:
            await agent.prompt(session, [text_block(wish)])
        except RequestError as error:
            check("unsaved" in str(error), f"the reason, got {error}")
        else:
            raise AssertionError("a conflict with an unsaved buffer")
        editor.buffers.clear()
        more = resource_block(embedded_text_resource("file:///x.txt", "embedded"))
        await agent.prompt(session, [text_block("hello"), more])

        begin = len(editor.updates)
        turn = asyncio.create_task(agent.prompt(session, [text_block("stream")]))
        await until(lambda: "three" in editor.text(begin))
        home.end(signal.SIGKILL)
        home.up()
        check((await turn).stop_reason == "end_turn", "end_turn after a restart")
        words = "one two three four five six seven eight nine ten"
        check(editor.text(begin) == words, f"every word once, got {editor.text(begin)}")
        await refused(agent, session)
        check(process.returncode is None, "an agent that outlives its daemon")
    return str(session)


async def second(home: Home, session: str) -> None:
    """Another editor finds, loads, goes on with and closes the session."""
    editor = Editor()
    async with home.agent(editor) as (agent, _):
        await hello(agent)
        listed = (await agent.list_sessions()).sessions
        check(session in [it.session_id for it in listed], "the session in the list")
        await agent.load_session(str(home.folder / "memex"), session)
        wanted = {"user_message_chunk", "agent_message_chunk", "tool_call"}
        check(wanted <= editor.kinds(), f"the conversation again, got {editor.kinds()}")
        check((await agent.prompt(session, [text_block("hello")])).stop_reason == "end_turn", "end_turn")
        await agent.close_session(session)
        await agent.resume_session(session, str(home.folder / "memex"))
        check((await agent.prompt(session, [text_block("hello")])).stop_reason == "end_turn", "end_turn")


async def cancelled(agent: Any, editor: Editor, session: str, wish: str, begun: Any) -> None:
    turn = asyncio.create_task(agent.prompt(session, [text_block(wish)]))
    await until(begun)
    await agent.cancel(session)
    check((await turn).stop_reason == "cancelled", f"a cancelled `{wish}`")


async def refused(agent: Any, session: str) -> None:
    for call in (
        agent.new_session("relative"),
        agent.prompt("none", [text_block("x")]),
        agent.prompt(session, []),
        agent.load_session("/", "not-there"),
        agent.set_session_mode("none", session),
    ):
        try:
            await call
        except RequestError:
            continue
        raise AssertionError("a refusal")


async def until(found: Any) -> None:
    async with asyncio.timeout(15):
        while not found():
            await asyncio.sleep(0.01)


async def main() -> None:
    home = Home(sys.argv[1], Path(sys.argv[2]))
    home.up()
    try:
        await second(home, await first(home))
    finally:
        home.end(signal.SIGTERM)
    shutil.rmtree(home.folder, ignore_errors=True)
    print("the library of PyPI came through its conversation")


asyncio.run(main())
