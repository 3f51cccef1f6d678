# SPDX-License-Identifier: Apache-2.0
"""The examples of the documents: fenced blocks, whose first line may say what they need.

    ```python                       run, after the blocks before it on the page
    ```python needs=sley.torch      only where that can be imported
    ```python launch=2              by so many processes, as torchrun starts them, alone
    ```python shows                 not run: an excerpt, or what names files that nobody has
"""
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("PYTHON", "START", "COMING_FROM")
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """An example: its language, what its first line says, and its text."""

    page: str
    line: int
    language: str
    needs: str
    launch: int
    runs: bool
    text: str


def blocks(language: str) -> list[Block]:
    """All of a language, in their order."""
    found = []
    for page in PAGES:
        text = (ROOT / "docs" / f"{page}.md").read_text()
        for match in _FENCE.finditer(text):
            words = dict(each.partition("=")[::2] for each in match[2].split())
            if match[1] == language:
                found.append(Block(page, text.count("\n", 0, match.start()) + 1, language, words.get("needs", ""),
                                   int(words.get("launch", 0)), "shows" not in words, match[3]))
    return found
