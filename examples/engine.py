#!/usr/bin/env python3
"""An engine of the OpenHarness Protocol that says what was said; docs/tutorial-engine.md builds it.

    examples/engine.py 9000 &
    bridle conform engine http://127.0.0.1:9000/
"""
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIMIT = 1 << 20  # bytes of a message
VERSION = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
FILE = re.compile(r"[A-Za-z0-9+/_=-]{11000}")  # more than 8 KiB in base64


class Refusal(Exception):
    """The code of an error and its details; never anything of the request."""


def need(holds, code="invalid_request", **details):
    if not holds:
        raise Refusal(code, details)


def unique(pairs):
    need(len(dict(pairs)) == len(pairs), reason="duplicate_key")
    return dict(pairs)


def read(body):
    try:
        message = json.loads(body.decode(), object_pairs_hook=unique, parse_constant=lambda _: need(False))
        json.dumps(message, ensure_ascii=False).encode()  # fails for half a surrogate pair
    except (ValueError, RecursionError):
        raise Refusal("invalid_request", {"reason": "syntax"}) from None
    need(isinstance(message, dict), expected="an object")
    return message


def act(message):
    version = message.get("protocol_version")
    form = VERSION.fullmatch(version) if isinstance(version, str) else None
    need(form, field="protocol_version")
    need(form[1] == "1", "protocol_version_unsupported")
    need(isinstance(message.get("request"), dict), field="request")
    context = message["request"].get("context") or {}
    need(isinstance(context, dict), field="context")
    files = context.get("attachments") or []
    need(isinstance(files, list) and all(isinstance(file, dict) for file in files), field="context.attachments")
    need(not FILE.search(json.dumps([files, context.get("environment_state")])), "embedded_blob")
    intent = context.get("user_intent")
    need(isinstance(intent, str) and intent.strip(), field="context.user_intent")
    return [{"action_type": "render_message", "payload": {"text": f"You said: {intent}"}}]


def answer(body):
    envelope = {"protocol_version": "1.0.0", "supported_protocol_versions": ["1.0.0"]}
    try:
        message = read(body)
        ids = {key: message.get(key) for key in ("request_id", "correlation_id")}
        envelope.update((key, id) for key, id in ids.items() if isinstance(id, str) and id)
        envelope["response"] = {"status": "success", "action_directives": act(message)}
    except Refusal as refusal:
        code, details = refusal.args
        error = {"code": code, "message": "not done, see the code", "retryable": False, "details": details}
        envelope["response"] = {"status": "error", "error": error}
    return json.dumps(envelope).encode()


class Engine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_message = lambda *_: None  # a log would hold what people said

    def body(self):
        lengths = self.headers.get_all("Content-Length") or [""]
        if self.headers["Transfer-Encoding"] or len(lengths) > 1 or not re.fullmatch("[0-9]{1,9}", lengths[0]):
            return b""
        length = left = int(lengths[0])
        pieces = []
        while left and (piece := self.rfile.read(min(left, LIMIT))):
            pieces, left = [*pieces, piece][:1], left - len(piece)  # what is too large is read, not kept
        return pieces[0] if pieces and not left and length <= LIMIT else b""

    def do_POST(self):
        body = self.body()
        self.close_connection = not body  # nobody knows where the next request begins
        reply = answer(body)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Engine)
    print(f"ready http=127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
