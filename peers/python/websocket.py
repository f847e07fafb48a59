"""Talks to the daemon on a WebSocket with the `websockets` library, which checks every frame it gets by RFC 6455.

    /usr/bin/python3 peers/python/websocket.py HOST:PORT

The daemon's thinker must answer `help`.  Each case opens a connection of its own, as the library does by default:
it offers compression, which the daemon must leave alone.  The last line is `N passed, M failed`; the exit code is
1 when M is not 0.
"""

import asyncio
import json
import sys

import websockets

PATH = "/v1/openharness/ws"
PROTOCOL = "openharness.v1"

# Seconds for one case: far above what any takes on a loaded machine.
PATIENCE = 120


def request(request_id, text="help"):
    context = {"session_id": f"ws-{request_id}", "user_intent": text}
    message = {"protocol_version": "1.0.0", "request_id": request_id, "request": {"context": context}}
    return json.dumps({"type": "request", "message": message}, ensure_ascii=False)


async def final(socket):
    """The last event of the next stream."""
    while True:
        event = json.loads(await socket.recv())
        if event["type"] == "final":
            return event


def is_success(event):
    return event["message"]["response"]["status"] == "success"


async def answered(socket):
    await socket.send(request("answered"))
    first = json.loads(await socket.recv())
    assert first["type"] == "open" and first["seq"] == 0, first
    assert is_success(await final(socket))


async def no_extensions(socket):
    extensions = getattr(socket, "extensions", [])
    assert not extensions, extensions
    assert socket.subprotocol == PROTOCOL, socket.subprotocol


async def in_fragments(socket):
    text = request("fragments", "help \u03ba \U0001f600")
    await socket.send(text[i : i + 7] for i in range(0, len(text), 7))
    assert is_success(await final(socket))


async def of_every_length(socket):
    """Around the lengths at which a header changes its form, and close to the largest that is taken."""
    for length in (125, 126, 127, 65_535, 65_536, 65_537, 1_000_000):
        text = request(f"n{length}")
        text += " " * (length - len(text.encode()))
        await socket.send(text)
        assert is_success(await final(socket)), length


async def pings(socket):
    for payload in (b"", b"well?", bytes(125)):
        await (await socket.ping(payload))
    await socket.pong(b"unasked")
    await answered(socket)


async def beside_each_other(socket):
    names = {f"b{n}" for n in range(20)}
    for name in names:
        await socket.send(request(name))
    heard = set()
    while heard != names:
        event = await final(socket)
        assert is_success(event), event
        heard.add(event["request_id"])


async def ends_with(socket, code):
    """Reads until the other side ends the connection, and looks how."""
    try:
        while True:
            await socket.recv()
    except websockets.ConnectionClosed as closed:
        got = closed.rcvd.code if closed.rcvd else None
        assert got == code, closed


async def bytes_are_refused(socket):
    await socket.send(b"{}")
    await ends_with(socket, 1003)


async def too_much_is_refused(socket):
    try:
        await socket.send(" " * (2 << 20))
    except websockets.ConnectionClosed:
        pass
    await ends_with(socket, 1009)


async def closes(socket):
    await socket.close(code=3001, reason="enough \u03ba")
    assert socket.close_code == 3001, socket.close_code


CASES = [
    answered,
    no_extensions,
    in_fragments,
    of_every_length,
    pings,
    beside_each_other,
    bytes_are_refused,
    too_much_is_refused,
    closes,
]


async def run(case, address):
    uri = f"ws://{address}{PATH}"
    async with websockets.connect(uri, subprotocols=[PROTOCOL], max_size=None) as socket:
        await case(socket)


async def main(address):
    failed = 0
    for case in CASES:
        try:
            await asyncio.wait_for(run(case, address), PATIENCE)
        except Exception as error:  # whatever it is, it is told and counted
            failed += 1
            print(f"{case.__name__}: {type(error).__name__}: {error}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
