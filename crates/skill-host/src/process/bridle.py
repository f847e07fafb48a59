# Skills in Python: definitions, requests, and the loop that answers the daemon. The standard library is enough.
#
# Data of the daemon and of Python: keyword is Keyword, property list is dict, list is list, t is True, nil is None.

import io
import os
import re
import sys

_in, _out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")


class Keyword(str):
    """A keyword such as :done; equal to its name."""


class Denied(Exception):
    """An action that was not done."""


def _write(value):
    if value is None or value is False:
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, Keyword):
        return ":" + value.replace("_", "-")
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        pairs = (f":{str(key).replace('_', '-')} {_write(item)}" for key, item in value.items())
        return "(" + " ".join(pairs) + ")" if value else "nil"
    if isinstance(value, (list, tuple)):
        return "(" + " ".join(map(_write, value)) + ")" if value else "nil"
    raise TypeError(f"{type(value).__name__} cannot be told to the daemon")


_token = re.compile(r'\s*(?:(?P<open>#?\()|(?P<close>\))|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<atom>[^\s()"]+))', re.S)


def _atom(word):
    if word.startswith(":"):
        return Keyword(word[1:].lower())
    if word.lower() == "nil":
        return None
    if word.lower() == "t":
        return True
    for kind in (int, float):
        try:
            return kind(word.replace("d", "e").replace("f", "e") if kind is float else word)
        except ValueError:
            pass
    return word


def _read(text):
    stack, at = [[]], 0
    while at < len(text):
        found = _token.match(text, at)
        if not found:
            break
        at = found.end()
        if found["open"]:
            stack.append([])
        elif found["close"]:
            done = stack.pop()
            keys = done[0::2]
            is_plist = done and len(done) % 2 == 0 and all(isinstance(key, Keyword) for key in keys)
            stack[-1].append(dict(zip((str(key).replace("-", "_") for key in keys), done[1::2])) if is_plist else done)
        elif found["text"] is not None:
            stack[-1].append(re.sub(r"\\(.)", r"\1", found["text"], flags=re.S))
        else:
            stack[-1].append(_atom(found["atom"]))
    return stack[0][0]


def _receive():
    head = _in.read(6)
    if len(head) < 6:
        os._exit(0)
    return _read(_in.read(int(head, 16)).decode())


def _send(value):
    body = _write(value).encode()
    _out.write(b"%06x" % len(body) + body)
    _out.flush()


def _printed():
    text = sys.stdout.getvalue()
    sys.stdout.seek(0)
    sys.stdout.truncate()
    return text


_may_wait = False


def _ask(request):
    if not _may_wait:
        raise RuntimeError("nothing can be asked of the host here")
    _send({"waits": request, "output": _printed()})
    message = _receive()
    if message.get("do") != "resume":
        os._exit(2)
    return message.get("answer")


def act(target, **payload):
    """Asks for an action; its outcome, such as {"outcome": "done", "value": ..}."""
    action = {key: Keyword(item) if key == "action" else item for key, item in payload.items()}
    return _ask({"do": Keyword("act"), "target": Keyword(target), "payload": action})


def done(outcome):
    """Whether an outcome is done."""
    return outcome.get("outcome") == "done"


def result(outcome):
    """Value of an outcome that is done; otherwise Denied with the reason."""
    if done(outcome):
        return outcome.get("value")
    reason = outcome.get("reason")
    raise Denied(f"{outcome.get('outcome')}: {reason}" if reason else str(outcome.get("outcome")))


def now():
    """Seconds since 1970."""
    return _ask({"do": Keyword("now")})


def random(limit):
    """Whole number from 0 to below the limit."""
    return _ask({"do": Keyword("random"), "limit": limit})


def state():
    """Value that was saved last."""
    return _ask({"do": Keyword("state")})


def save_state(value):
    """Keeps a value beyond the call."""
    _ask({"do": Keyword("save-state"), "value": value})
    return value


_parts = {}
_types = {str: "string", int: "integer", float: "number", bool: "boolean", Keyword: "keyword", list: "list"}


def _define(kind, name, function, **facts):
    doc = (function.__doc__ or "").strip()
    _parts[kind, name] = (function, {"doc": doc, **facts})
    return function


def _name(function):
    return function.__name__.replace("_", "-")


def _parameters(function):
    # Of the module `inspect` all of this costs two megabytes a process.
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _arguments(function):
    names, kinds = _parameters(function), function.__annotations__
    needed = len(names) - len(function.__defaults__ or ())
    return [
        {
            "name": name.replace("_", "-"),
            "type": _types.get(kinds[name], "any") if name in kinds else "string",
            "doc": "",
            "optional": at >= needed,
        }
        for at, name in enumerate(names)
    ]


def skill(name, doc=""):
    """Names the skill and says what it is for."""
    _parts["skill", name] = (None, {"doc": doc})


def command(function):
    """Defines a command: FUNCTION(text, context)."""
    return _define("command", _name(function), function)


def tool(function):
    """Defines a tool; types of arguments are those of the function."""
    return _define("tool", _name(function), function, arguments=_arguments(function))


def actuator(**actions):
    """Defines an actuator: @actuator(water={"bed": str}), FUNCTION(action, context)."""

    def define(function):
        listed = [
            {
                "name": name.replace("_", "-"),
                "arguments": [{"name": key, "type": _types.get(kind, "any"), "doc": ""} for key, kind in arguments.items()],
            }
            for name, arguments in actions.items()
        ]
        return _define("actuator", _name(function), function, actions=listed)

    return define


def perceive(function):
    """Defines the stage: FUNCTION(signal)."""
    return _define("stage", "perceive", function)


def think(function):
    """Defines the stage: FUNCTION(context)."""
    return _define("stage", "think", function)


def decide(function):
    """Defines the stage: FUNCTION(proposal, context)."""
    return _define("stage", "decide", function)


def _fits(kind, value):
    tests = {
        "string": lambda: isinstance(value, str) and not isinstance(value, Keyword),
        "integer": lambda: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
        "boolean": lambda: isinstance(value, bool) or value is None,
        "keyword": lambda: isinstance(value, Keyword),
        "list": lambda: value is None or isinstance(value, (list, dict)),
    }
    return tests.get(kind, lambda: True)()


def _checked(facts, given):
    given, checked = given or {}, {}
    for fact in facts["arguments"]:
        key = fact["name"].replace("-", "_")
        if key not in given:
            if not fact["optional"]:
                raise TypeError(f"argument {fact['name']} is missing")
        elif not _fits(fact["type"], given[key]):
            raise TypeError(f"argument {fact['name']} is {_write(given[key])}, expected {fact['type']}")
        else:
            checked[key] = bool(given[key]) if fact["type"] == "boolean" else given[key]
    return checked


def _call(message):
    global _may_wait
    kind, name, arguments = message["kind"], message["name"], message.get("arguments") or []
    if kind == "form":
        return [_write(eval(name, _program.__dict__))]
    function, facts = _parts[kind, name]
    _may_wait = True
    if kind == "tool":
        return function(**_checked(facts, arguments[0] if arguments else None))
    if isinstance(arguments, dict):
        arguments = [arguments]
    room = len(_parameters(function))
    return function(*["" if it is None and kind == "command" and at == 0 else it for at, it in enumerate(arguments)][:room])


def _fault(error):
    line = None
    if isinstance(error, SyntaxError) and error.filename == "skill":
        line = error.lineno
    walk = error.__traceback__
    while walk:
        if walk.tb_frame.f_code.co_filename == "skill":
            line = walk.tb_lineno
        walk = walk.tb_next
    name = "error" if isinstance(error, Denied) else type(error).__name__
    return {"failed": f"{name}: {error}", **({"line": line} if line else {})}


_program = type(sys)("skill")


def _serve():
    sys.modules["bridle"] = sys.modules[__name__]
    sys.stdout = sys.stderr = io.StringIO()
    sys.stdin = io.StringIO()
    while True:
        message = _receive()
        try:
            if message["do"] == "load":
                exec(compile(message["text"], "skill", "exec"), _program.__dict__)
                _printed()
                parts = [{"kind": Keyword(kind), "name": name, "facts": facts} for (kind, name), (_, facts) in _parts.items()]
                _send({"done": parts})
            elif message["do"] == "call":
                value = _call(message)
                _send({"done": value, "output": _printed()})
            else:
                os._exit(0)
        except MemoryError:
            _send({"failed": "heap limit reached", "limit": True})
        except Exception as error:
            _send({**_fault(error), "output": _printed()})


_serve()
