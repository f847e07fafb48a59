"""Skills in Python: definitions, requests, and the frames of a process. Loaded before the program of a skill."""
import io, re, sys, traceback, types

class Keyword(str):
    """A keyword of the data language, without its colon."""

class SkillError(Exception):
    """An outcome that is not done."""

_TOKEN = re.compile(r'[\s]+|([()\[\]])|"((?:[^"\\]|\\.)*)"|([^\s()\[\]"]+)', re.S)

def _read(text):
    stack, done = [[]], []
    for match in _TOKEN.finditer(text):
        mark, string, atom = match.group(1), match.group(2), match.group(3)
        if mark in ("(", "["):
            stack.append([])
        elif mark in (")", "]"):
            items = stack.pop()
            stack[-1].append(_plist(items) if mark == ")" else items)
        elif string is not None:
            stack[-1].append(re.sub(r"\\(.)", r"\1", string, flags=re.S))
        elif atom is not None:
            stack[-1].append(_atom(atom))
    return stack[0][0] if stack[0] else None

def _plist(items):
    keys = items[::2]
    if items and len(items) % 2 == 0 and all(isinstance(key, Keyword) for key in keys):
        plist = {}
        for key, value in zip(keys, items[1::2]):
            plist.setdefault(str(key), value)
        return plist
    return items if items else None

def _atom(text):
    lower = text.lower()
    if lower in ("nil", "t"):
        return None if lower == "nil" else True
    if text.startswith(":"):
        return Keyword(lower[1:])
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(re.sub("[dfsl]", "e", lower))
    except ValueError:
        return Keyword(lower)

def _print(value):
    if value is None or value is False or value == [] or value == ():
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, Keyword):
        return ":" + value
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text.replace("e", "d") if "e" in text else text + "d0"
    if isinstance(value, dict):
        pairs = (":" + str(key).replace("_", "-") + " " + _print(item) for key, item in value.items())
        return "(" + " ".join(pairs) + ")"
    if isinstance(value, (list, tuple)):
        return "(" + " ".join(map(_print, value)) + ")"
    raise TypeError("%r is no value of a skill" % (value,))

_input, _output = sys.stdin.buffer, sys.stdout.buffer

def _receive():
    head = _input.read(6)
    if len(head) < 6:
        sys.exit(0)
    return _read(_input.read(int(head, 16)).decode("utf-8"))

def _send(value):
    data = _print(value).encode("utf-8")
    _output.write(b"%06x" % len(data) + data)
    _output.flush()

_parts, _current, _next = [], None, None

class _Dropped(BaseException):
    pass

def _ask(request):
    global _current, _next
    call = _current
    if call is None:
        raise SkillError("nothing is asked of the host while it loads")
    _send({"ask": call, "request": request})
    frame = _receive()
    if frame.get("answer") != call:
        _current, _next = None, frame
        raise _Dropped()
    return frame.get("value")

def act(target, **payload):
    return _ask({"do": Keyword("act"), "target": Keyword(target), "payload": payload})

def now():
    return _ask({"do": Keyword("now")})

def random(limit):
    return _ask({"do": Keyword("random"), "limit": limit})

def state():
    return _ask({"do": Keyword("state")})

def save_state(value):
    _ask({"do": Keyword("save-state"), "value": value})
    return value

def done(outcome):
    return outcome.get("outcome") == "done"

def result(outcome):
    if done(outcome):
        return outcome.get("value")
    raise SkillError("%s: %s" % (outcome.get("outcome"), outcome.get("reason")))

def _define(kind, name, function, **facts):
    _parts[:] = [part for part in _parts if (part[0], part[1]) != (kind, name)]
    facts.setdefault("doc", (function.__doc__ or "").strip())
    _parts.append((kind, name, facts, function))
    return function

def perceive(function): return _define("stage", "perceive", function)
def think(function): return _define("stage", "think", function)
def decide(function): return _define("stage", "decide", function)
def encode(function): return _define("codec", "encode", function)
def decode(function): return _define("codec", "decode", function)

def command(name):
    return lambda function: _define("command", name, lambda text, context: function(text), doc=(function.__doc__ or "").strip())

def _argument(name, about):
    about = about if isinstance(about, dict) else {"type": about}
    return {"name": name, "type": about.get("type", "string"), "doc": about.get("doc", ""),
            "optional": bool(about.get("optional")), "choices": about.get("choices")}

def tool(name, **arguments):
    facts = [_argument(key, about) for key, about in arguments.items()]
    def wrap(function):
        def called(given):
            given = {key.replace("-", "_"): value for key, value in (given or {}).items()}
            for fact in facts:
                if fact["name"] not in given and not fact["optional"]:
                    raise SkillError("argument %s is missing" % fact["name"])
            return function(**{key: value for key, value in given.items() if key in arguments})
        return _define("tool", name, called, doc=(function.__doc__ or "").strip(), arguments=facts)
    return wrap

def actuator(name, **actions):
    facts = [{"name": action, "arguments": [_argument(key, about) for key, about in arguments.items()]}
             for action, arguments in actions.items()]
    return lambda function: _define("actuator", name, function, actions=facts)

def _load(text):
    module = types.ModuleType("bridle")
    for name in ("Keyword SkillError act now random state save_state done result perceive think decide "
                 "encode decode command tool actuator").split():
        setattr(module, name, globals()[name])
    sys.modules["bridle"] = module
    try:
        exec(compile(text, "skill", "exec"), {"__name__": "skill", "bridle": module})
    except BaseException as error:
        frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "skill"]
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (frames or [None])[-1]
        return _send({"failed": True, "message": "%s: %s" % (type(error).__name__, error), "line": line})
    _send({"parts": [{"kind": Keyword(kind), "name": name, "facts": facts} for kind, name, facts, _ in _parts]})

def _call(frame):
    global _current
    number, kind, name = frame["call"], frame.get("kind"), frame.get("name")
    _current, printed = number, io.StringIO()
    real, sys.stdout = sys.stdout, printed
    try:
        found = [part for part in _parts if part[0] == kind and part[1] == name]
        if not found:
            raise SkillError("the skill defines no %s %s" % (kind, name))
        value = found[0][3](*(frame.get("arguments") or []))
        answer = {"done": number, "value": value, "output": printed.getvalue()}
        _print(answer)
    except _Dropped:
        answer = None
    except BaseException as error:
        answer = {"failed": number, "message": "%s: %s" % (type(error).__name__, error), "output": printed.getvalue()}
    finally:
        sys.stdout, _current = real, None
    if answer:
        _send(answer)

while True:
    _frame = _next if _next is not None else _receive()
    _next = None
    if "load" in _frame:
        _load(_frame["load"])
    elif "call" in _frame:
        _call(_frame)
