"""Reading, checking and writing one JSON document.

Decides what is a well-formed document of ours; leaves its meaning to the tool that reads it.
A document is refused when it is empty, too large, too deep, not UTF-8, not JSON, has a key twice,
holds NaN, an infinite number or half a surrogate pair, is of another format, or does not satisfy
its schema.
"""

from __future__ import annotations

import json

from . import checker, files
from .problems import Problem, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from .messages import Run

# The largest legitimate run document holds a payload of 32,000 characters and its diffs.
LIMIT_BYTES = 64 * 1024 * 1024
# Ours are 7 levels deep. What Python can read but not write again would end as a bug of ours.
LIMIT_DEPTH = 100
# What is longer is no word somebody has mistyped in a document.
LIMIT_REPEATED = 32

# By stage, the bytes this process has written last and found to satisfy it: in a flow the next
# tool is handed the same ones, and need not check them a second time.
_written: dict[str, bytes] = {}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Problem("document", f"the key {_short(repr(key))} stands twice in one object")
            seen.add(key)
    return value


def _refuse_constant(name: str) -> Any:
    raise Problem("document", f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Problem("document", f"the number {_short(text)} is too large")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}…"


def _depth(value: object) -> int:
    """How many objects and arrays stand inside each other at the deepest place."""
    depth = 0
    level = [value]
    while level := [entry for entry in level if isinstance(entry, dict | list)]:
        level = [
            entry
            for holder in level
            for entry in (holder.values() if isinstance(holder, dict) else holder)
        ]
        depth += 1
    return depth


def parse_json(data: bytes, what: str, limit: int = LIMIT_BYTES) -> Any:
    """The JSON value in `data`, which may be `limit` bytes; `what` names the source in messages.

    Raises Problem("document") for anything a strict reader refuses.
    """
    if len(data) > limit:
        raise Problem("document", f"{what} is larger than {limit:,} bytes")
    if not data.strip():
        raise Problem("document", f"{what} is empty", "the stage before it ended without a word")
    if data.startswith(b"\xef\xbb\xbf"):
        raise Problem(
            "document",
            f"{what} begins with a byte order mark",
            "save it as UTF-8 without one",
        )
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        if "\\u" in text:
            # Only an escape can bring half a surrogate pair past the UTF-8 decoder.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except Problem as problem:
        raise Problem("document", f"{what}: {problem.message}") from None
    except UnicodeDecodeError as error:
        raise Problem("document", f"{what} is not UTF-8 at byte {error.start}") from None
    except UnicodeEncodeError:
        raise Problem("document", f"{what} holds half of a surrogate pair") from None
    except RecursionError:
        raise Problem("document", f"{what} is nested too deeply") from None
    except ValueError as error:
        raise Problem("document", f"{what} is not JSON: {error}") from None
    brackets = text.count("{") + text.count("[")
    if brackets > LIMIT_DEPTH and _depth(value) > LIMIT_DEPTH:
        raise Problem("document", f"{what} is nested too deeply")
    return value


def check(value: object, ref: str, what: str, kind: str = "document") -> None:
    """Refuse `value` unless it satisfies the schema `ref`.

    Raises Problem(kind) with the path, what was expected and what was found.
    """
    try:
        if checker.accepts(value, ref):
            return
        message = explain(value, ref)
    except RecursionError:
        message = "nested too deeply"
    if message is not None:
        raise Problem(kind, f"{what}: {message}")


def explain(value: object, ref: str) -> str | None:
    """What `jsonschema` has against `value`, in one line; None when it is valid.

    A long value is not repeated: complaints are kept and logged, and it may be a command with a
    password in it. Stricter than `jsonschema` in two points: 1.0 is no integer (our code would meet
    a float), and `$` at the end of a pattern matches at the very end alone.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_authority(ref).iter_errors(value))
    if error is None:
        return None
    steps = [str(step) for step in error.absolute_path]
    path = ".".join(step if step.isprintable() else repr(step) for step in steps)
    message = error.message
    found = error.instance
    if found and isinstance(found, dict | list | str) and len(repr(found)) > LIMIT_REPEATED:
        noun = {dict: "this object", list: "this list"}.get(type(found), "this text")
        message = message.replace(repr(found), noun)
    return f"{_short(path) or 'the document'}: {_short(message)}"


def _authority(ref: str) -> Any:
    """The `jsonschema` validator of `ref`."""
    import jsonschema
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    def retrieve(uri: str) -> Any:
        schema = checker.load(uri.split("/schemas/", 1)[1])
        # `$schema` would make jsonschema go on with its own class instead of the stricter one
        return DRAFT202012.create_resource({k: v for k, v in schema.items() if k != "$schema"})

    def pattern(_validator: Any, rule: str, text: object, _schema: Any) -> Any:
        if isinstance(text, str) and not checker.search(rule, text):
            yield jsonschema.ValidationError(f"{text!r} does not match {rule!r}")

    def is_integer(_types: Any, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    plain = jsonschema.Draft202012Validator
    extend: Any = jsonschema.validators.extend  # its stub has no types
    strict = extend(
        plain, {"pattern": pattern}, type_checker=plain.TYPE_CHECKER.redefine("integer", is_integer)
    )
    # mypy can't see that Registry takes `retrieve` by keyword
    registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    name, _, pointer = ref.partition("#")
    return strict({"$ref": f"{checker.load(name)['$id']}#{pointer}"}, registry=registry)


def read_run(stream: BinaryIO, stage: str) -> Run:
    """The run document on `stream`, as the stage before left it (`parsed`, `gated`, …).

    Raises Problem("document") when there is none or it is not valid.
    """
    data = stream.read(LIMIT_BYTES + 1)
    value = parse_json(data, "standard input")
    found = value.get("format") if isinstance(value, dict) else None
    if found != "clip-harness/run@1":
        raise Problem(
            "document",
            f"standard input is no run document: its format is {found!r}",
            "feed it the output of ch-parse or of a later tool",
        )
    if data != _written.get(stage):
        check(value, f"run.schema.json#/$defs/{stage}", "run document")
    return value  # type: ignore[no-any-return]


def kept(path: str, ref: str, *, kind: str = "document", hint: str | None = None) -> Any:
    """The document kept in the file `path`, which satisfies the schema `ref`; None without one.

    Raises Problem(kind) when it does not, with `hint` if one is given, Problem("system") when it
    cannot be read.
    """
    data = files.read(path, LIMIT_BYTES + 1, follow=False)
    if data is None:
        return None
    try:
        value = parse_json(data, path)
        check(value, ref, path)
    except Problem as problem:
        raise Problem(kind, problem.message, hint or problem.hint) from None
    return value


def encode(value: object) -> bytes:
    """`value` as one line of JSON in UTF-8, with its newline.

    Raises Problem("document") for text that is not Unicode, as a file name can be.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 40) : error.end + 40]
        raise Problem(
            "document",
            f"not Unicode text, so no document can carry it: {near!r}",
            "rename the file or folder whose name has bytes that are not UTF-8",
        ) from None


def put(stream: BinaryIO, data: bytes) -> None:
    """Write `data` to standard output, at once.

    Raises BrokenPipeError when nobody reads, Problem("system") on any other failure.
    """
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise refusal(error, "write", "standard output") from None


def write_run(stream: BinaryIO, document: Run, stage: str) -> None:
    """Write `document`, after checking that it is what this stage promises."""
    check(document, f"run.schema.json#/$defs/{stage}", "run document to write", kind="bug")
    data = encode(document)
    _written[stage] = data
    put(stream, data)
