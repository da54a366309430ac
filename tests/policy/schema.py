"""The JSON of a command's answers against the JSON Schemas that its manual page gives, one a subcommand, in section JSON."""

import functools
import json
import os
import re
from pathlib import Path

import jsonschema

PAGES = Path(os.environ["SOURCE"]) / "man"
PAGE = "landlock-policy.1"

# What roff(7) writes for characters that a literal display needs; nothing else may stand there.
ESCAPES = {r"\e": "\\", r"\(rs": "\\", r"\[rs]": "\\", r"\(bs": "\\", r"\-": "-", r"\(dq": '"', r"\[dq]": '"', r"\(aq": "'", r"\[aq]": "'", r"\&": "",
           r"\(ha": "^", r"\[ha]": "^", r"\(ti": "~", r"\[ti]": "~", r"\(ga": "`", r"\[ga]": "`", r"\ ": " ", r"\~": " ", r"\(at": "@"}


class NoSchema(AssertionError):
    """The page does not have what it should."""


def plain(line):
    """A line of a literal display as it is shown."""
    def replaced(match):
        if match[0] not in ESCAPES:
            raise NoSchema(f"an escape that schema.py does not know: {line!r}")
        return ESCAPES[match[0]]

    return re.sub(r"\\(?:\(..|\[[^\]]*\]|.|$)", replaced, line)


def displays(text):
    """The literal displays of section JSON: (subcommand, lines) each."""
    subcommand, lines, is_inside = None, None, False
    for line in text.splitlines():
        if lines is not None:
            if line.startswith(".Ed"):
                yield subcommand, lines
                lines = None
            else:
                lines.append(plain(line))
        elif line.startswith(".Sh"):
            is_inside = line.split()[1:] == ["JSON"]
        elif is_inside and line.startswith(".It Cm "):
            subcommand = line.split()[2]
        elif is_inside and subcommand and line.startswith(".Bd -literal"):
            lines = []


@functools.lru_cache(None)
def schemas(page=PAGE):
    """The validators, by subcommand."""
    try:
        text = (PAGES / page).read_text(encoding="utf-8")
    except OSError as error:
        raise NoSchema(f"the schemas of a command's JSON stand in its manual page: {error}") from None
    found = {}
    for subcommand, lines in displays(text):
        try:
            schema = json.loads("\n".join(lines))
        except json.JSONDecodeError as error:
            raise NoSchema(f"{page}: the schema of '{subcommand}' is no JSON: {error}") from None
        jsonschema.Draft202012Validator.check_schema(schema)
        if subcommand in found:
            raise NoSchema(f"{page}: '{subcommand}' has two schemas")
        found[subcommand] = jsonschema.Draft202012Validator(schema)
    return found


def errors(subcommand, document, page=PAGE):
    """What the schema of a subcommand does not allow in a document: a text each."""
    if subcommand not in schemas(page):
        raise NoSchema(f"{page}: section JSON has no schema for '{subcommand}'; it has: {', '.join(schemas(page)) or 'none'}")
    return [f"{error.json_path}: {error.message}" for error in schemas(page)[subcommand].iter_errors(document)]
