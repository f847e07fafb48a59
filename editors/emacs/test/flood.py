"""A daemon that floods: deltas at a steady rate, and large results in between, on a Unix socket.

Called by bridle-metrics.el and the tests as `flood.py SOCKET DELTAS_PER_SECOND SECONDS MEBIBYTES`. It greets,
attaches whoever says hello, answers health checks, and floods after the first prompt. It reads and writes
from one loop and never waits for its peer, as a daemon does.
"""

from __future__ import annotations

import re
import select
import socket
import sys
import time

MAX_FRAME = 262_144
RESULT = 4 << 20


def frame(text: str) -> bytes:
    data = text.encode()
    return b"%06x" % len(data) + data


def result(seq: int) -> bytes:
    """One outcome of four mebibytes, in parts: lines with quotes, escapes and letters beyond ASCII."""
    line = 'result line %d: \\"quoted\\" and \\\\ escaped, naïve text of some length\\n' % seq
    text = (line * (RESULT // len(line.encode()) + 1))[: RESULT - 200]
    text = text[: text.rindex("\\n")]
    message = (
        f'(:type :EVENT :meta (:session "flood" :seq {seq}) '
        f':payload (:action :outcome :effect "flood-{seq}" :outcome :done :result "{text}"))'
    )
    step = 120_000
    pieces = [message[at : at + step] for at in range(0, len(message), step)]
    frames = []
    for n, piece in enumerate(pieces, 1):
        data = piece.replace("\\", "\\\\").replace('"', '\\"')
        one = frame(f'(:type :EVENT :part (:id "r{seq}" :n {n} :of {len(pieces)}) :data "{data}")')
        assert len(one) <= MAX_FRAME, "a part fits into a frame"
        frames.append(one)
    return b"".join(frames)


def main() -> None:
    path, rate, seconds, mebibytes = sys.argv[1], *map(float, sys.argv[2:5])
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(1)
    print("ready", flush=True)
    peer, _ = server.accept()
    peer.setblocking(False)
    out = bytearray(
        frame(
            '(:type :EVENT :payload (:action :handshake :version "0.3.0" :capabilities (:parts :attach :stream)'
            ' :server "flood/1" :limits (:max-frame 16777215)))'
        )
    )
    heard = b""
    began = 0.0
    sent, seq, results = 0, 1, int(mebibytes * (1 << 20) // RESULT)
    done = False
    while True:
        if began and not done:
            elapsed = time.monotonic() - began
            while sent < min(elapsed, seconds) * rate:
                sent += 1
                out += frame(f'(:type :EVENT :payload (:action :delta :turn 1 :text "piece {sent} of an answer,{chr(92)}n"))')
            while seq - 1 < results and elapsed > seconds * seq / (results + 1):
                seq += 1
                out += result(seq)
            if elapsed > seconds:
                done = True
                out += frame(
                    f'(:type :EVENT :meta (:session "flood" :seq {seq + 1} :answers 1)'
                    ' :payload (:status :success :action :message :text "the end"))'
                )
        readable, writable, _ = select.select([peer], [peer] if out else [], [], 0.002)
        if writable:
            del out[: peer.send(out[:65536])]
        if readable:
            data = peer.recv(65536)
            if not data:
                return
            heard += data
        while len(heard) >= 6 and len(heard) >= 6 + int(heard[:6], 16):
            end = 6 + int(heard[:6], 16)
            text, heard = heard[6:end].decode(), heard[end:]
            if ":action :handshake" in text:
                out += frame(
                    '(:type :RESPONSE :id nil :meta (:session "flood" :seq 0) :payload (:status :success'
                    ' :action :handshake :session "flood" :seq 0 :role :controller :state :idle))'
                )
            elif ":health-check" in text:
                out += frame("(:type :health-response :status :healthy :checked-p t)")
            elif ":user-prompt" in text:
                found = re.search(r':id "([^"]+)"', text)
                assert found, "a prompt has an id"
                out += frame(f'(:type :STATUS :id "{found[1]}" :payload (:status :admitted :session "flood" :seq 1))')
                began = time.monotonic()


main()
