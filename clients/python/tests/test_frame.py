"""Frames: the vectors of `vectors/frame` that a client with a stated unit can run, byte by byte and at once."""

import unittest
from typing import Any, Optional

from bridle_client.frame import MAX_FRAME, ConnectionSeal, Decoder, FrameError, Seal, encode

from .vectors import octets, repeated, vectors


def seal_of(vector: dict[str, Any]) -> Optional[Seal]:
    if vector.get("hmac") is None:
        return None
    return Seal(bytes.fromhex(vector["key_hex"]) if "key_hex" in vector else vector["key"].encode())


def decoded(vector: dict[str, Any], unit: str, piece: int) -> tuple[list[dict[str, str]], str]:
    """What a decoder of that unit makes of a vector's bytes in pieces of that size, and how it ends."""
    decoder = Decoder(seal_of(vector), unit, vector.get("max_frame", MAX_FRAME))
    out: list[dict[str, str]] = []
    data = octets(vector)
    try:
        for at in range(0, len(data), max(piece, 1)):
            decoder.feed(data[at : at + piece])
            while True:
                try:
                    payload = decoder.next()
                except FrameError as error:
                    if error.lost:
                        raise
                    out.append({"error": error.code})
                    continue
                if payload is None:
                    break
                out.append({"payload": payload})
        decoder.finish()
    except FrameError as error:
        return out, "incomplete" if error.code == "incomplete-frame" else f"lost:{error.code}"
    return out, "open"


# The first frame is read in one unit and a later one settles the other: no reader with a stated unit does so.
SETTLED_LATE = ("frame-0089", "frame-0117")


class Vectors(unittest.TestCase):
    def test_decoding(self) -> None:
        ran = guessed = 0
        for vector in vectors("frame"):
            if vector["do"] != "decode" or vector["id"] in SETTLED_LATE:
                continue
            expected = (vector["out"], vector["end"])
            unit = vector["unit"] or vector["unit_after"]
            data = octets(vector)
            with self.subTest(vector["id"], note=vector["note"]):
                if unit is None and not data.isascii():
                    # Nobody said what is counted. A client always says it, so one of its readers must agree,
                    # unless the vector is about the guess that failed.
                    guessed += 1
                    agrees = any(decoded(vector, unit, len(data)) == expected for unit in ("bytes", "chars"))
                    self.assertTrue(agrees or vector["end"] != "open" or vector["out"] == [])
                    continue
                ran += 1
                self.assertEqual(decoded(vector, unit or "bytes", len(data)), expected)
                if len(data) < 4096:
                    self.assertEqual(decoded(vector, unit or "bytes", 1), expected)
        self.assertGreater(ran, 200)
        self.assertLess(guessed, 40)

    def test_encoding(self) -> None:
        ran = 0
        for vector in vectors("frame"):
            if vector["do"] != "encode":
                continue
            payload = vector["payload"] if "payload" in vector else repeated(vector["payload_repeat"])
            unit = vector["unit"] or vector.get("unknown_unit") or "bytes"
            with self.subTest(vector["id"], note=vector["note"]):
                ran += 1
                limit = vector.get("max_frame", MAX_FRAME)
                try:
                    frame = encode(payload, seal_of(vector), unit, limit).decode()
                except FrameError as error:
                    self.assertEqual(error.code, vector.get("error"))
                    continue
                # The padding is for peers whose unit is unknown; a client's is not.
                self.assertEqual(frame, vector["out"].rstrip(" ") if not vector["unit"] else vector["out"])
        self.assertGreater(ran, 100)


class Version2(unittest.TestCase):
    """The two frames of the protocol's section 4."""

    SERVER = b"00112233445566778899aabbccddeeff"
    CLIENT = b"ffeeddccbbaa99887766554433221100"
    HELLO = (
        '(:type :EVENT :payload (:action :handshake :auth (:hmac 2 :key "laptop" :nonce '
        '"ffeeddccbbaa99887766554433221100" :answer "00112233445566778899aabbccddeeff")))'
    )

    def seal(self, direction: bytes = b"C") -> ConnectionSeal:
        return ConnectionSeal(b"0123456789abcdef", direction, self.CLIENT, self.SERVER)

    def test_the_documented_frames(self) -> None:
        seal = self.seal()
        first, second = encode(self.HELLO, seal), encode("(:type :health-check)", seal)
        self.assertEqual(first[:70], b"00009f23d9376d0dca072b1f0a6208b4f3089bb95d3fe68df5d70e0a1663307ea0b4ca")
        self.assertEqual(second[:70], b"000015520b01d1fc12fa0813f750419aea50eeae60c9e7e292cd1c9d743e4a3ac876d4")

    def test_a_frame_is_good_once_in_its_place_and_direction(self) -> None:
        seal = self.seal()
        frames = [encode(text, seal) for text in ("(a)", "(b)")]
        for sent, direction, good in (
            ([0, 1], b"C", 2), ([0, 0], b"C", 1), ([1], b"C", 0), ([0], b"S", 0),
        ):
            decoder = Decoder(self.seal(direction))
            decoder.feed(b"".join(frames[at] for at in sent))
            read = 0
            try:
                while decoder.next() is not None:
                    read += 1
            except FrameError as error:
                self.assertEqual(error.code, "bad-signature")
            self.assertEqual(read, good, (sent, direction))


if __name__ == "__main__":
    unittest.main()
