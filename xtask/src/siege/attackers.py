"""Hostile connections for `cargo xtask siege`: TCP-PORT HTTP-PORT CONNECTIONS SECONDS.

Runs as a user that owns nothing. Keeps that many connections, opens another for each that is closed,
and prints what became of them.
"""

import asyncio
import json
import os
import resource
import sys
import time

TCP, HTTP, COUNT, SECONDS = (int(word) for word in sys.argv[1:5])
PIECE = b"x" * 65536
HELP = b'(:type :EVENT :id 1 :payload (:sensor :user-prompt :text "help"))'
PROMPTS = (b"%06x" % len(HELP) + HELP) * 64
TREE = b"ee09f8" + b"((((((((" * 8192
told = {"opened": 0, "closed": 0, "refused": 0, "sent_bytes": 0, "received_bytes": 0}


async def send(writer, bytes_):
    writer.write(bytes_)
    told["sent_bytes"] += len(bytes_)
    await asyncio.wait_for(writer.drain(), 10)


async def idle(writer):
    await asyncio.sleep(3600)


async def dribble(writer):
    await send(writer, b"00ffff(")
    while True:
        await asyncio.sleep(0.5)
        await send(writer, b"(")


async def half_body(writer):
    head = b"POST /v1/openharness HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n" % HTTP
    await send(writer, head + b"content-type: application/json\r\ncontent-length: 1048576\r\n\r\n")
    for _ in range(12):
        await send(writer, PIECE)
    await asyncio.sleep(3600)


async def big_tree(writer):
    while True:
        await send(writer, TREE)
        for _ in range(236):
            await send(writer, PIECE)


async def prompts(writer):
    while True:
        await send(writer, PROMPTS)


async def read(reader):
    while True:
        more = await reader.read(65536)
        if not more:
            return
        told["received_bytes"] += len(more)
        if b"too-many-connections" in more or b"503 " in more[:16]:
            told["refused"] += 1


async def attack(number, end):
    role, port = [
        (idle, TCP), (dribble, TCP), (half_body, HTTP), (big_tree, TCP), (prompts, TCP), (idle, HTTP),
    ][number % 6]
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(1)
            continue
        told["opened"] += 1
        tasks = [asyncio.ensure_future(read(reader)), asyncio.ensure_future(role(writer))]
        left = max(0.01, end - time.monotonic())
        await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.transport.abort()
        told["closed"] += 1
        # A peer that is refused comes again, a few thousand of them in a second.
        await asyncio.sleep(1)


async def main():
    end = time.monotonic() + SECONDS
    attacks = [asyncio.ensure_future(attack(number, end)) for number in range(COUNT)]
    await asyncio.wait(attacks, timeout=SECONDS)
    print(json.dumps(told), flush=True)
    # All connections end with the process.
    os._exit(0)


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if hard != resource.RLIM_INFINITY and hard < COUNT + 64:
    sys.exit(f"{COUNT} connections need {COUNT + 64} descriptors, the system allows {hard}")
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
asyncio.run(main())
