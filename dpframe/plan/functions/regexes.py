r"""Regular expressions that mean the same to every engine, in linear time.

DuckDB searches with RE2 and Polars with Rust's regex: both run in time linear in the text, but
they differ in what \d and \w are, in classes within classes, in repetitions of repetitions. So a
pattern is read here, in the syntax that both share, and written again with every class spelt out.
What is not in that syntax is refused.
"""

from __future__ import annotations

import string

from dpframe.plan.functions.base import Refused

_LARGEST = 500
"""Characters and classes of a pattern, with repetitions written out."""

_DEEPEST = 20

_DIGITS, _SPACES = [(0x30, 0x39)], [(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)]
_UPPER, _LOWER = [(0x41, 0x5A)], [(0x61, 0x7A)]
_WORD = [*_DIGITS, *_UPPER, (0x5F, 0x5F), *_LOWER]
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_NAMED = {
    "[:alpha:]": [*_UPPER, *_LOWER],
    "[:digit:]": _DIGITS,
    "[:alnum:]": [*_DIGITS, *_UPPER, *_LOWER],
    "[:upper:]": _UPPER,
    "[:lower:]": _LOWER,
    "[:space:]": [(0x09, 0x0D), (0x20, 0x20)],
    "[:punct:]": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
}
_CONTROLS = {"t": 0x09, "n": 0x0A, "f": 0x0C, "r": 0x0D, "v": 0x0B}
_NOT_NEWLINE, _ANYTHING = "[^\\x{a}]", "[\\x{0}-\\x{10ffff}]"

Ranges = list[tuple[int, int]]


def canonical(pattern: str, flags: str = "", *, full: bool = False) -> str:
    """The pattern in the form that every engine reads alike; `full` for the whole text.

    >>> print(canonical("[a-c]+$", full=True).replace(chr(92), "/"))
    ^(?:[/x{61}-/x{63}]+$)$
    """
    unknown = set(flags) - set("cis")
    if unknown:
        raise Refused(
            f"the option {sorted(unknown)[0]!r} is not known", "'i' ignores case, 's' lets . be any"
        )
    if pattern.startswith("(?i)"):
        pattern, flags = pattern[4:], flags + "i"
    found = _Pattern(pattern, "i" in flags, "s" in flags).read()
    return f"^(?:{found})$" if full else found


def _refused(why: str) -> Refused:
    return Refused(
        f"the pattern has {why}",
        "use plain characters, . [a-z] [^a-z] \\d \\w \\s ^ $ ( ) | and * + ? {2,5}; put \\ before"
        " a sign that stands for itself",
    )


class _Pattern:
    """Reads a pattern from left to right, and writes it again."""

    def __init__(self, text: str, ignore_case: bool, any_dot: bool) -> None:
        self.text, self.at = text, 0
        self.ignore_case, self.any_dot = ignore_case, any_dot

    def read(self) -> str:
        found, size = self._choice(0)
        if self.at < len(self.text):
            raise _refused("a ) that closes nothing")
        if size > _LARGEST:
            raise _refused(f"more than {_LARGEST} characters, with repetitions written out")
        return found

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, word: str) -> bool:
        taken = self.text.startswith(word, self.at)
        self.at += len(word) if taken else 0
        return taken

    def _choice(self, depth: int) -> tuple[str, int]:
        if depth > _DEEPEST:
            raise _refused(f"more than {_DEEPEST} groups within each other")
        arms, total = [], 0
        while True:
            arm, size = self._sequence(depth)
            arms.append(arm)
            total += size + 1
            if not self._take("|"):
                return "|".join(arms), total

    def _sequence(self, depth: int) -> tuple[str, int]:
        found, total = "", 0
        while self._next() not in ("", "|", ")"):
            atom, size, repeatable = self._atom(depth)
            times, copies = self._repetition()
            if times and not repeatable:
                raise _refused("a repetition of a place, such as ^*")
            found += atom + times
            total += size * copies
            if total > _LARGEST:
                raise _refused(f"more than {_LARGEST} characters, with repetitions written out")
        return found, total

    def _repetition(self) -> tuple[str, int]:
        """The sign after an atom, and how many copies of the atom it makes."""
        times, copies = self._next(), 2
        if times and times in "*+?":
            self.at += 1
        elif times == "{":
            times, copies = self._counted()
        else:
            return "", 1
        self._take("?")  # as few as possible: which part matches changes, not whether one does
        if self._next() and self._next() in "*+?{":
            raise _refused("a repetition of a repetition")
        return times, copies

    def _counted(self) -> tuple[str, int]:
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : max(end, self.at + 1)].partition(",")
        digits = least.isascii() and least.isdigit() and (not most or most.isascii())
        if end < 0 or not digits or (most and not most.isdigit()):
            raise _refused("a { that counts nothing")
        low, high = int(least[:9]), int((most or least)[:9])
        if high < low or high > _LARGEST:
            raise _refused(f"a repetition that is no count up to {_LARGEST}")
        self.at = end + 1
        return "{" + str(low) + comma + (str(high) if most else "") + "}", max(high, low + 1)

    def _atom(self, depth: int) -> tuple[str, int, bool]:
        """What one sign or group is written as, its size, and whether it may be repeated."""
        sign = self._next()
        self.at += 1
        match sign:
            case "(":
                if self._next() == "?" and not self._take("?:"):
                    raise _refused("a group with (?, other than (?:")
                inner, size = self._choice(depth + 1)
                if not self._take(")"):
                    raise _refused("a ( that is not closed")
                return f"(?:{inner})", size, True
            case "[":
                found = self._set()
                # To Polars a pattern is too long by its ranges, and only where a row is there to read.
                return found, max(10, found.count("\\x{")), True
            case ".":
                return (_ANYTHING if self.any_dot else _NOT_NEWLINE), 10, True
            case "^" | "$":
                return sign, 1, False
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise _refused("a repetition of nothing")
            case "]" | "{" | "}":
                raise _refused(f"a {sign} that is not escaped")
        return self._character(ord(sign)), 1, True

    def _escape(self) -> tuple[str, int, bool]:
        sign = self._next()
        if sign in ("b", "A", "z"):
            self.at += 1
            return {"b": "\\b", "A": "^", "z": "$"}[sign], 1, False
        if sign and sign.lower() in _CLASSES:
            self.at += 1
            ranges = self._both_cases(_CLASSES[sign.lower()])
            return _written(ranges, negated=sign.isupper()), 10, True
        return self._character(self._escaped()), 1, True

    def _escaped(self) -> int:
        """The character that an escape stands for, inside and outside of classes."""
        sign = self._next()
        self.at += 1
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "x" and self._take("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at : max(end, self.at)]
            self.at = end + 1
            if 0 < len(digits) <= 6 and all(d in string.hexdigits for d in digits):
                code = int(digits, 16)
                if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                    return code
        if sign and sign in string.punctuation:
            return ord(sign)
        raise _refused(f"the escape {self.text[self.at - 2 : self.at]!r}")

    def _set(self) -> str:
        negated, ranges, first = self._take("^"), list[tuple[int, int]](), True
        while first or self._next() != "]":
            ranges += self._item(first)
            first = False
        self.at += 1
        return _written(self._both_cases(ranges), negated)

    def _item(self, first: bool) -> Ranges:
        for name, ranges in _NAMED.items():
            if self._take(name):
                return ranges
        if self._take("\\"):
            sign = self._next()
            if sign in _CLASSES:
                self.at += 1
                return _CLASSES[sign]
            low = self._escaped()
        else:
            low = self._plain(first)
        if self._next() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return [(low, low)]
        self.at += 1
        high = self._escaped() if self._take("\\") else self._plain(first=False)
        if high < low:
            raise _refused("a range of characters that goes down")
        return [(low, high)]

    def _plain(self, first: bool) -> int:
        sign = self._next()
        if sign in ("", "[") or (first and sign == "]"):
            raise _refused("a [ that is not closed, or a bracket in it that is not escaped")
        self.at += 1
        return ord(sign)

    def _character(self, code: int) -> str:
        if self.ignore_case and chr(code).isalpha():
            return _written(self._folded(code, code), negated=False)
        sign = chr(code)
        return sign if sign.isascii() and sign.isalnum() else f"\\x{{{code:x}}}"

    def _both_cases(self, ranges: Ranges) -> Ranges:
        """The ranges, where cases are ignored with both cases of their letters."""
        if not self.ignore_case:
            return ranges
        return [r for low, high in ranges for r in self._folded(low, high)]

    def _folded(self, low: int, high: int) -> Ranges:
        """Both cases of ASCII letters; and of k and s, the signs for kelvin and the long s."""
        if high >= 0x80:
            raise _refused("letters beyond ASCII, whose cases engines match differently")
        found = [(low, high)]
        for code in range(low, high + 1):
            if chr(code).isalpha():
                found.append((code ^ 0x20, code ^ 0x20))
                other = {"k": 0x212A, "s": 0x17F}.get(chr(code).lower())
                found += [(other, other)] if other else []
        return found


def _written(ranges: Ranges, negated: bool) -> str:
    merged: Ranges = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    items = [f"\\x{{{a:x}}}" + (f"-\\x{{{b:x}}}" if b > a else "") for a, b in merged]
    return f"[{'^' if negated else ''}{''.join(items)}]"
