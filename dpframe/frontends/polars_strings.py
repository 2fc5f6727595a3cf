"""Functions of `Expr.str`, and of texts: how each is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dpframe.plan.exprs import Expr

if TYPE_CHECKING:
    from dpframe.frontends.polars_exprs import Step

# What Polars strips if nothing is said: every character that Unicode calls white space.
_WHITE_SPACE = "".join(
    map(
        chr,
        (
            *range(0x09, 0x0E),
            *(0x20, 0x85, 0xA0, 0x1680),
            *range(0x2000, 0x200B),
            *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
        ),
    )
)


def _text(step: Step, index: int, what: str) -> str:
    value = step.constant(index, what)
    if not isinstance(value, str):
        raise step.error(f"{what} is not a text", fix='write it in quotes: "a"')
    return value


def _is_plain(pattern: str) -> bool:
    """Whether a regular expression stands for itself."""
    return re.search(r"[\\.+*?()|\[\]{}^$#&~\-\s]", pattern) is None


def _contains(step: Step) -> Expr:
    pattern = _text(step, 1, "the pattern")
    if step.term.options["literal"] or _is_plain(pattern):
        return step.call("contains", step.first(), params=(pattern,))
    for written in _signs(pattern):
        if written in _OF_UNICODE:
            raise step.error(
                f"{written} in its pattern is that of Unicode",
                why="to Polars it matches signs beyond ASCII as well, to other engines it does not",
                fix=_OF_UNICODE[written],
            )
        if written in _OF_POLARS:
            raise step.error(
                f"{written} in its pattern is that of Polars alone",
                why="to other engines its signs stand for themselves",
                fix=_OF_POLARS[written],
            )
    return step.call("regexp_matches", step.first(), params=(pattern, "", False))


def _signs(pattern: str) -> Iterator[str]:
    """The signs of a pattern that mean something together; some do so between [ and ] only."""
    inside = False
    for found in re.findall(r"\\.|\(\?|\[:\w+:\]|[\[\]]|&&|--|~~", pattern, re.DOTALL):
        inside = found == "[" or (inside and found != "]")
        if inside or found[0] in "\\(":
            yield found


_WORD = "write what the word stands between: (^| )word($| )"

_OF_UNICODE = {
    "\\d": "write [0-9]",
    "\\D": "write [^0-9]",
    "\\w": "write [A-Za-z0-9_]",
    "\\W": "write [^A-Za-z0-9_]",
    "\\s": "write [ \\t\\n]",
    "\\S": "write [^ \\t\\n]",
    "\\b": _WORD,
    "(?": "without options: str.to_lowercase() before it ignores case, and ( ) makes a group",
}
"""What means more in Polars than in the syntax that engines share."""

_ITSELF = "write one set of signs, with \\ before each sign that stands for itself"

_OF_POLARS = {**dict.fromkeys(("\\<", "\\>"), _WORD), **dict.fromkeys(("&&", "--", "~~"), _ITSELF)}
"""What means something else there: ends of words, and sets that are cut with other sets."""


def _tested(function: str) -> Callable[[Step], Expr]:
    return lambda step: step.call(
        function, step.first(), params=(_text(step, 1, "the text to look for"),)
    )


def _replace(step: Step) -> Expr:
    options = step.term.options
    if options["n"] != -1:
        raise step.error("replaces the first match only", fix='str.replace_all("a", "b")')
    pattern = _text(step, 1, "the pattern")
    if not options["literal"] and not _is_plain(pattern):
        raise step.error(
            "replaces what a regular expression matches",
            why="engines find the parts that match differently",
            fix="literal=True",
        )
    new = _text(step, 2, "the replacement")
    if "$" in new and not options["literal"]:
        raise step.error("the replacement refers to a match", fix="literal=True")
    return step.call("replace", step.first(), params=(pattern, new))


def _stripped(function: str) -> Callable[[Step], Expr]:
    def read(step: Step) -> Expr:
        given = step.constant(1, "the characters")
        characters = _WHITE_SPACE if given is None else _text(step, 1, "the characters")
        return step.call(function, step.first(), params=(characters,))

    return read


def _slice(step: Step) -> Expr:
    start, length = step.constant(1, "the offset"), step.constant(2, "the length")
    counts = isinstance(start, int) and (length is None or isinstance(length, int))
    if not counts or start < 0:
        raise step.error(
            "slices from the end", why="offsets count from the start here", fix="str.slice(0, 3)"
        )
    return step.call(
        "substring", step.first(), params=(start + 1,) if length is None else (start + 1, length)
    )


def _head(step: Step) -> Expr:
    length = step.constant(1, "the length")
    if not isinstance(length, int) or length < 0:
        raise step.error("counts from the end", fix="str.head(3)")
    return step.call("left", step.first(), params=(length,))


def _tail(step: Step) -> Expr:
    length = step.constant(1, "the length")
    if not isinstance(length, int) or length < 0:
        raise step.error("counts from the start", fix="str.tail(3)")
    return step.call("right", step.first(), params=(length,))


def _padded(function: str) -> Callable[[Step], Expr]:
    """Longer texts stay as they are, where those of SQL are cut."""

    def read(step: Step) -> Expr:
        length, value = step.constant(1, "the length"), step.first()
        if not isinstance(length, int) or length < 0:
            raise step.error("the length is not a number", fix="str.pad_start(4)")
        is_long = step.call("greater_equal", step.call("length", value), step.literal(length))
        filled = step.call(function, value, params=(length, step.term.options["fill_char"]))
        return step.call("case", is_long, value, filled)

    return read


def _concatenated(step: Step) -> Expr:
    between, skips = step.term.options["delimiter"], step.term.options["ignore_nulls"]
    texts = step.inputs()
    if skips and between:
        raise step.error(
            "skips NULL and its separator",
            fix="pl.concat_str(..., separator=...) without ignore_nulls, or without a separator",
        )
    args = [texts[0]]
    for text in texts[1:]:
        args += [step.literal(between), text] if between else [text]
    return step.call("concat" if skips else "concat_operator", *args)


STRINGS: dict[str, tuple[tuple[str, ...], Callable[[Step], Expr]]] = {
    "concat_str": (("delimiter", "ignore_nulls"), _concatenated),
    "str.contains": (("literal", "strict"), _contains),
    "str.starts_with": ((), _tested("starts_with")),
    "str.ends_with": ((), _tested("ends_with")),
    "str.replace": (("n", "literal"), _replace),
    "str.strip_chars": ((), _stripped("strip_chars")),
    "str.strip_chars_start": ((), _stripped("strip_chars_start")),
    "str.strip_chars_end": ((), _stripped("strip_chars_end")),
    "str.slice": ((), _slice),
    "str.head": ((), _head),
    "str.tail": ((), _tail),
    "str.pad_start": (("fill_char",), _padded("lpad")),
    "str.pad_end": (("fill_char",), _padded("rpad")),
}
"""The options that each one looks at, and the reader itself."""
