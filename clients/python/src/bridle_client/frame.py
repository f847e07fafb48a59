"""Frames: six hex digits of length, a signature where one is asked for, and the text of one form.

`encode` makes a frame; a `Decoder` takes bytes as they come and gives payloads. Nothing here reads or
writes sockets, and nothing is allocated ahead of received bytes.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

MAX_FRAME = 0xFFFFFF
"""The largest length that six digits can say."""
MAX_BLANKS = 64 * 1024
"""Blanks between two frames, padding not counted."""
HEADER = 6
"""Digits of the length."""
SIGNATURE = 64
"""Digits of a signature."""

_BLANKS = b" \t\r\n"
_HEX = frozenset(b"0123456789abcdefABCDEF")


class FrameError(Exception):
    """What is wrong with a frame, by the code of the protocol. When `lost`, nobody knows where the next one is."""

    def __init__(self, code: str, lost: bool) -> None:
        super().__init__(code)
        self.code = code
        self.lost = lost


class Seal:
    """Version 1 of signatures: HMAC-SHA256 of the payload."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def sign(self, length: bytes, payload: bytes) -> bytes:
        """The signature of the next frame that is sent."""
        return hmac.new(self.secret, payload, hashlib.sha256).hexdigest().encode()

    def fits(self, signature: bytes, length: bytes, payload: bytes) -> bool:
        """Whether this is the signature of the next frame that is received."""
        if hmac.compare_digest(signature.lower(), self.sign(length, payload)):
            return True
        try:
            # Old Lisp peers sign one octet a character.
            latin = payload.decode("utf-8").encode("latin-1")
        except UnicodeError:
            return False
        return hmac.compare_digest(signature.lower(), self.sign(length, latin))


@dataclass
class ConnectionSeal(Seal):
    """Version 2: it also signs the connection, the direction and the position, one of these for each direction."""

    secret: bytes
    direction: bytes
    client_nonce: bytes
    server_nonce: bytes
    counter: int = 0

    def sign(self, length: bytes, payload: bytes) -> bytes:
        signature = self._digest(length, payload)
        self.counter += 1
        return signature

    def fits(self, signature: bytes, length: bytes, payload: bytes) -> bool:
        fits = hmac.compare_digest(signature.lower(), self._digest(length, payload))
        self.counter += fits
        return fits

    def _digest(self, length: bytes, payload: bytes) -> bytes:
        place = self.direction + self.client_nonce + self.server_nonce + self.counter.to_bytes(8, "big")
        return hmac.new(self.secret, place + length + payload, hashlib.sha256).hexdigest().encode()


def encode(payload: str, seal: Seal | None = None, unit: str = "bytes", max_frame: int = MAX_FRAME) -> bytes:
    """The frame of a payload; `unit` is what its length counts, `bytes` or `chars`.

    Raises `FrameError` when it is empty or larger than the peer takes.
    """
    data = payload.encode("utf-8")
    length = len(data) if unit == "bytes" else len(payload)
    if length == 0:
        raise FrameError("empty-frame", lost=False)
    if length > min(max_frame, MAX_FRAME):
        raise FrameError("frame-too-large", lost=False)
    digits = b"%06x" % length
    return digits + (seal.sign(digits, data) if seal else b"") + data


class Decoder:
    """Reads frames out of bytes that arrive in any pieces.

    >>> decoder = Decoder()
    >>> decoder.feed(b"000015(:type :health")
    >>> decoder.next()
    >>> decoder.feed(b"-check)")
    >>> decoder.next()
    '(:type :health-check)'
    """

    def __init__(self, seal: Seal | None = None, unit: str = "bytes", max_frame: int = MAX_FRAME) -> None:
        self.seal = seal
        self.unit = unit
        self.max_frame = max_frame
        self._buffer = bytearray()
        self._blanks = MAX_BLANKS
        self._discard = 0  # units of a frame over the limit that are still to pass
        self._walked = (0, 0)  # bytes and characters of the payload that were looked at
        self._lost: FrameError | None = None

    def feed(self, data: bytes) -> None:
        """Takes bytes from the peer."""
        self._buffer += data

    def next(self) -> str | None:
        """The next payload, or None when more bytes are needed. Raises `FrameError`."""
        if self._lost:
            raise self._lost
        try:
            return self._next()
        except FrameError as error:
            if error.lost:
                self._lost = error
            raise

    def finish(self) -> None:
        """Judges the end of the stream: raises `FrameError` inside a frame. A frame that is cut is never given."""
        if self._lost:
            raise self._lost
        if self._discard or self._buffer.strip(_BLANKS):
            raise FrameError("incomplete-frame", lost=True)

    def _next(self) -> str | None:
        buffer = self._buffer
        if self._discard and not self._discarded():
            return None
        self._skip_blanks()
        self._check_digits(0, HEADER, "bad-header")
        if len(buffer) < HEADER:
            return None
        length = int(bytes(buffer[:HEADER]), 16)
        if self.seal:
            if length > self.max_frame:
                raise FrameError("frame-too-large", lost=True)
            self._check_digits(HEADER, HEADER + SIGNATURE, "unsigned-frame")
            if len(buffer) < HEADER + SIGNATURE:
                return None
        elif length == 0:
            self._take(HEADER, 0)
            raise FrameError("empty-frame", lost=False)
        elif length > self.max_frame:
            self._take(HEADER, 0)
            self._discard = length
            raise FrameError("frame-too-large", lost=False)
        start = HEADER + (SIGNATURE if self.seal else 0)
        end = self._end(start, length)
        return None if end is None else self._payload(start, end)

    def _payload(self, start: int, end: int) -> str:
        head, data = bytes(self._buffer[:start]), bytes(self._buffer[start:end])
        if self.seal and not self.seal.fits(head[HEADER:], head[:HEADER], data):
            raise FrameError("bad-signature", lost=True)
        self._take(end, 0 if data.isascii() else len(data))
        if not data:
            raise FrameError("empty-frame", lost=False)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise FrameError("invalid-utf8", lost=False) from None

    def _take(self, count: int, padded: int) -> None:
        """Drops a frame from the buffer; one with bytes above ASCII may have padding behind it."""
        del self._buffer[:count]
        self._walked = (0, 0)
        self._blanks = MAX_BLANKS + padded // 4 * 3

    def _skip_blanks(self) -> None:
        blanks = len(self._buffer) - len(self._buffer.lstrip(_BLANKS))
        self._blanks -= blanks
        if self._blanks < 0:
            raise FrameError("too-many-blanks", lost=True)
        del self._buffer[:blanks]

    def _check_digits(self, start: int, end: int, code: str) -> None:
        if any(byte not in _HEX for byte in self._buffer[start:end]):
            raise FrameError(code, lost=True)

    def _end(self, start: int, length: int) -> int | None:
        """Where the payload ends, or None when it has not arrived."""
        if self.unit == "bytes":
            return start + length if len(self._buffer) >= start + length else None
        at, count = _walk(self._buffer, start + self._walked[0], length - self._walked[1])
        self._walked = (at - start, self._walked[1] + count)
        return at if self._walked[1] == length else None

    def _discarded(self) -> bool:
        """Throws a frame away as it passes; whether all of it has."""
        if self.unit == "bytes":
            at = count = min(self._discard, len(self._buffer))
        else:
            at, count = _walk(self._buffer, 0, self._discard)
        del self._buffer[:at]
        self._discard -= count
        return self._discard == 0


def _walk(buffer: bytearray, at: int, count: int) -> tuple[int, int]:
    """Walks over up to `count` whole characters; where it stops, and how many there were.

    Bytes that are no character count as one, as far as they could have begun one.
    """
    walked = 0
    while walked < count and at < len(buffer):
        size = _character(buffer, at)
        if size is None:
            break
        at += size
        walked += 1
    return at, walked


def _character(buffer: bytearray, at: int) -> int | None:
    """The bytes of the character at a place, or None when it may still be completed."""
    first = buffer[at]
    if first < 0xC2 or first > 0xF4:
        return 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    # What may follow the first byte, so that nothing is written longer than it must be.
    low = {0xE0: 0xA0, 0xF0: 0x90}.get(first, 0x80)
    high = {0xED: 0x9F, 0xF4: 0x8F}.get(first, 0xBF)
    for step in range(1, size):
        if at + step >= len(buffer):
            return None
        if not low <= buffer[at + step] <= high:
            return step
        low, high = 0x80, 0xBF
    return size
