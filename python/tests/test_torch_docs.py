# SPDX-License-Identifier: Apache-2.0
"""The documents' examples for PyTorch."""
import shutil
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, Block, blocks
from test_dist import launched

import sley

pytest.importorskip("torch")
EXAMPLES = [each for each in blocks("python") if each.runs and "torch" in each.needs]


@pytest.mark.parametrize("block", EXAMPLES, ids=[f"{each.page}:{each.line}" for each in EXAMPLES])
def test_example(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(block.needs)
    shutil.copy(ROOT / "data/karate.mtx", tmp_path / "karate.mtx")
    program = tmp_path / "program.py"
    program.write_text(block.text)
    if block.launch:
        for status, _, errors in launched(block.launch, str(program), cwd=tmp_path):
            assert status == 0, errors
        return
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"sley": sley}
    exec(compile(block.text, f"{block.page}.md:{block.line}", "exec"), names)
