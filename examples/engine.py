#!/usr/bin/env python3
"""An engine of the OpenHarness Protocol that says what was said; docs/tutorial-engine.md builds it.

    examples/engine.py 9000 &
    bridle conform engine http://127.0.0.1:9000/
"""
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
FILE = re.compile(r"[A-Za-z0-9+/_=-]{11000}")  # more than 8 KiB in base64


class Refusal(Exception):
    """The code of an error and its details; never anything of the request."""


def need(holds, code="invalid_request", **details):
    if not holds:
        raise Refusal(code, details)


def unique(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else need(False, reason="duplicate_key")


def read(body):
    try:
        message = json.loads(body.decode(), object_pairs_hook=unique, parse_constant=lambda _: need(False))
        json.dumps(message, ensure_ascii=False).encode()  # fails for half a surrogate pair
    except (ValueError, RecursionError):
        raise Refusal("invalid_request", {"reason": "syntax"}) from None
    return message


def get(thing, path, kind, default=None):
    value = thing.get(path.split(".")[-1])
    need(isinstance(default if value is None else value, kind), field=path)
    return default if value is None else value


def act(message):
    version = VERSION.fullmatch(get(message, "protocol_version", str)) or need(False, field="protocol_version")
    need(version[1] == "1", "protocol_version_unsupported")
    context = get(get(message, "request", dict), "context", dict, {})
    files = get(context, "context.attachments", list, [])
    need(all(isinstance(file, dict) for file in files), field="context.attachments")
    need(not FILE.search(json.dumps([files, context.get("environment_state")])), "embedded_blob")
    intent = get(context, "context.user_intent", str)
    need(intent.strip(), field="context.user_intent")
    return [{"action_type": "render_message", "payload": {"text": f"You said: {intent}"}}]


def answer(body):
    envelope = {"protocol_version": "1.0.0", "supported_protocol_versions": ["1.0.0"]}
    try:
        message = get({"message": read(body)}, "message", dict)
        envelope |= {key: get(message, key, str) for key in ("request_id", "correlation_id") if message.get(key)}
        envelope["response"] = {"status": "success", "action_directives": act(message)}
    except Refusal as refusal:
        error = dict(zip(("code", "details"), refusal.args), message="not done, see the code", retryable=False)
        envelope["response"] = {"status": "error", "error": error}
    return json.dumps(envelope).encode()


class Engine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_message = lambda *_: None  # a log would hold what people said

    def do_POST(self):
        length = ",".join(self.headers.get_all("Content-Length", []))  # two are none
        is_clear = re.fullmatch("[0-9]{1,6}", length) and not self.headers["Transfer-Encoding"]  # below 1 MB
        body = self.rfile.read(int(length)) if is_clear else b""
        self.close_connection = not is_clear or len(body) < int(length)  # nobody knows where the next request begins
        reply = answer(b"" if self.close_connection else body)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Engine)
print(f"ready http=127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
