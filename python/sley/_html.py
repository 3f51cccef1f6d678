# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks."""
import html
from collections.abc import Iterable, Sequence


def _cell(value: object, tag: str) -> str:
    right = isinstance(value, (int, float)) and not isinstance(value, bool)
    style = ' style="text-align: right"' if right else ' style="text-align: left"'
    return f"<{tag}{style}>{html.escape(str(value))}</{tag}>"


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table of rows of values; the first of a row is its name."""
    lines = ["<table>"]
    if head:
        lines.append("<tr>" + "".join(_cell(each, "th") for each in head) + "</tr>")
    for first, *rest in rows:
        lines.append("<tr>" + _cell(first, "th") + "".join(_cell(each, "td") for each in rest) + "</tr>")
    return "\n".join([*lines, "</table>"])
