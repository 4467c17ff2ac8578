"""Reading, checking and writing one JSON document.

Decides what is a well-formed document of ours; leaves its meaning to the tool that reads it.
A document is refused when it is empty, too large, not UTF-8, not JSON, has a key twice, holds NaN
or half a surrogate pair, is of another format, or does not satisfy its schema.
"""

from __future__ import annotations

import json

from . import checker
from .problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from .messages import Run

# The largest legitimate run document holds a payload of 32,000 characters and its diffs.
LIMIT_BYTES = 64 * 1024 * 1024


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Problem("document", f"the key {key!r} stands twice in one object")
            seen.add(key)
    return value


def _refuse_constant(name: str) -> Any:
    raise Problem("document", f"{name} is no JSON number")


def parse_json(data: bytes, what: str) -> Any:
    """The JSON value in `data`; `what` names the source in messages.

    Raises Problem("document") for anything a strict reader refuses.
    """
    if not data.strip():
        raise Problem("document", f"{what} is empty", "the stage before it ended without a word")
    if len(data) > LIMIT_BYTES:
        raise Problem("document", f"{what} is larger than {LIMIT_BYTES:,} bytes")
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        if "\\u" in text:
            # Only an escape can bring half a surrogate pair past the UTF-8 decoder.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem("document", f"{what} is not UTF-8 at byte {error.start}") from None
    except UnicodeEncodeError:
        raise Problem("document", f"{what} holds half of a surrogate pair") from None
    except RecursionError:
        raise Problem("document", f"{what} is nested too deeply") from None
    except ValueError as error:
        raise Problem("document", f"{what} is not JSON: {error}") from None
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
    """What `jsonschema` has against `value`, in one line; None when it is valid."""
    import jsonschema
    from jsonschema.exceptions import best_match
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    def retrieve(uri: str) -> Any:
        name = uri.split("/schemas/", 1)[1]
        return DRAFT202012.create_resource(checker.load(name))

    # mypy can't see that Registry takes `retrieve` by keyword
    registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    base = checker.load(ref.partition("#")[0])["$id"]
    pointer = ref.partition("#")[2]
    validator = jsonschema.Draft202012Validator({"$ref": f"{base}#{pointer}"}, registry=registry)
    error = best_match(validator.iter_errors(value))
    if error is None:
        return None
    path = ".".join(str(step) for step in error.absolute_path) or "the document"
    message = error.message if len(error.message) <= 300 else f"{error.message[:300]}…"
    return f"{path}: {message}"


def read_run(stream: BinaryIO, stage: str) -> Run:
    """The run document on `stream`, as the stage before left it (`parsed`, `gated`, …).

    Raises Problem("document") when there is none or it is not valid.
    """
    value = parse_json(stream.read(LIMIT_BYTES + 1), "standard input")
    found = value.get("format") if isinstance(value, dict) else None
    if found != "clip-harness/run@1":
        raise Problem(
            "document",
            f"standard input is no run document: its format is {found!r}",
            "feed it the output of ch-parse or of a later tool",
        )
    check(value, f"run.schema.json#/$defs/{stage}", "run document")
    return value  # type: ignore[no-any-return]


def encode(value: object) -> bytes:
    """`value` as one line of JSON in UTF-8, with its newline."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8") + b"\n"


def write_run(stream: BinaryIO, document: Run, stage: str) -> None:
    """Write `document`, after checking that it is what this stage promises."""
    check(document, f"run.schema.json#/$defs/{stage}", "run document to write", kind="bug")
    stream.write(encode(document))
    stream.flush()
