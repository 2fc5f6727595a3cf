"""Regular expressions find on both engines what DuckDB finds by them as they were written."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

from dpframe.plan.functions.regexes import canonical

SIGNS = [*"aAkKsSzZ09_-&~<>[]\\ \t\n\rßéİ日🙂", "\u017f", "\u212a", "\x85", "\u2028"]
TEXTS = pl.DataFrame({"s": ["", *SIGNS, *(a + b for a in SIGNS for b in SIGNS)]})


@pytest.mark.parametrize("flags", ["", "i", "s"])
@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\w{2}", r"\W{2}", r"^\d\D$", r"\s\S", r"[\w-]{2}", r"^[^\w]+$", r"\bk", "^[a-k]+$"),
        *(
            "^.$",
            "..",
            "^$",
            "a$",
            "[[:punct:]]",
            "[[:space:]]{2}",
            "[^a-z]{2}",
            "s|K",
            r"\x{2028}",
        ),
        *("[a&&k]", "[a~~k]", "[ --_]", r"\<", r"^[\--_]"),
    ],
)
def test_a_pattern_finds_what_plain_duckdb_finds(pattern: str, flags: str) -> None:
    read = canonical(pattern, flags)
    ours = TEXTS["s"].str.contains(read.replace("\\b", r"(?-u:\b)")).to_list()
    connection = duckdb.connect()
    connection.register("texts", TEXTS)
    for written, options in ((pattern, flags or "c"), (read, "c")):
        found = connection.execute(
            "SELECT regexp_matches(s, $1, '" + options + "') FROM texts", [written]
        ).fetchall()
        assert [row[0] for row in found] == ours, written
