"""What pbcopy, pbpaste and osascript share: one pasteboard, kept in a folder."""

import json
import os
import sys

STATE = os.environ["STANDIN_STATE"]
TEXT = os.path.join(STATE, "text")
KINDS = os.path.join(STATE, "kinds")


def given():
    """The environment as it was given: Python itself replaces a C locale when it starts."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = file.read().decode().split("\0")
    except FileNotFoundError:
        return os.environ
    return dict(pair.partition("=")[::2] for pair in pairs)


def encoding():
    """LC_ALL is above LC_CTYPE, which is above LANG; without UTF-8 it is MacRoman."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = given().get(name)
        if value:
            return "utf-8" if value.upper().endswith("UTF-8") else "mac_roman"
    return "mac_roman"


def record(data=b""):
    """Note this call."""
    call = {
        "program": os.path.basename(sys.argv[0]),
        "arguments": sys.argv[1:],
        "LC_ALL": os.environ.get("LC_ALL"),
        "input": data.hex(),
        "outputs": [os.path.realpath(f"/proc/self/fd/{fd}") for fd in (1, 2)],
    }
    with open(os.path.join(STATE, "calls"), "a") as file:
        file.write(json.dumps(call) + "\n")


def content(path):
    """The bytes of one of the pasteboard's files; nothing when it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
