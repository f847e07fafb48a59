#!/usr/bin/env python3
"""A bridle client on one screen.  Usage: client.py PORT [FORM...], with BRIDLE_KEY set to sign (HMAC v1)."""
import hashlib, hmac, os, re, socket, sys
class Symbol(str): pass  # or a keyword; text is str, a list is list, nil is [], t is True, a number is int

WORDS = {"nil": [], "t": True}
TOKEN = re.compile(r'[ \t\n\r]*(?:([()])|"((?:[^"\\]|\\["\\])*)"|'
                   r'(?:(:?[A-Za-z][\w*+<=>!-]{0,999})|(0|-?[1-9]\d{0,300}))(?=[\s()]|$))', re.ASCII)

def read(text):  # the one form in text; strict: what it does not know it refuses
    stack, at, end = [[]], 0, len(text.rstrip(" \t\n\r"))
    while at < end:
        found = TOKEN.match(text, at, end)
        if not found or len(stack) > 500 or len(stack) == 1 and (stack[0] or found[1] == ")"):
            raise ValueError(f"cannot read {text[at:at + 40]!r}")
        at, (paren, string, symbol, number) = found.end(), found.groups()
        if paren == "(":
            stack.append([])
        else:
            value = (stack.pop() if paren else int(number) if number else
                     WORDS.get(symbol.lower(), Symbol(symbol)) if symbol else re.sub(r"\\(.)", r"\1", string))
            stack[-1].append(value)
    [form] = stack[0] if len(stack) == 1 else []  # ValueError unless it is one whole form
    return form

def write(value):
    if isinstance(value, list):
        return "(" + " ".join(map(write, value)) + ")" if value else "nil"
    if isinstance(value, str) and not isinstance(value, Symbol):
        return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
    return "t" if value is True else str(value)

def get(plist, key):  # the value after the first keyword `key`, whatever its case
    return next((v for k, v in zip(plist[::2], plist[1::2]) if isinstance(k, Symbol) and k.lower() == key), None)

def frame(text, key=None):
    data = text.encode()
    seal = b"" if key is None else hmac.new(key, data, hashlib.sha256).hexdigest().encode()
    return b"%06x%s%s" % (len(data), seal, data)

def unframe(stream, key=None):  # the next payload, or None at the end of the stream
    while (digits := stream.read(1)) in (b" ", b"\t", b"\r", b"\n"):
        pass
    if digits and not re.fullmatch(rb"[0-9a-fA-F]{6}", digits := digits + stream.read(5)):
        raise ValueError(f"expected six hex digits, got {digits!r}")
    size = int(digits or b"0", 16)
    seal, data = stream.read(0 if key is None else 64).lower(), stream.read(size)
    if digits and (not size or len(data) < size or not hmac.compare_digest(seal + data, frame(data.decode(), key)[6:])):
        raise ValueError("a frame that is empty, cut short or wrongly signed")
    return data.decode() if digits else None

def talk(port, forms, key=None):  # the daemon's hello, then one answer for each form
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link, link.makefile("rb") as stream:
        yield unframe(stream, key)
        for form in forms:
            link.sendall(frame(form, key))
            yield unframe(stream, key)

if __name__ == "__main__":
    print(*talk(int(sys.argv[1]), sys.argv[2:] or ["(:type :health-check)"], os.environb.get(b"BRIDLE_KEY")), sep="\n")
