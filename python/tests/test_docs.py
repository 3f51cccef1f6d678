# SPDX-License-Identifier: Apache-2.0
"""The documents: their examples run, their names exist, and every public name has a docstring."""
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from documents import PAGES, ROOT, blocks
from test_dist import launched

import sley
import sley.dist
from sley._library import library_path


@pytest.mark.parametrize("page", PAGES)
def test_examples_in_python(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block after block, as a reader types them, with the files that they name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "data/karate.mtx", "karate.mtx")
    sley.write(scipy.sparse.random(50, 50, density=0.1, random_state=1), "graph.mtx.gz")
    names: dict[str, Any] = {}
    ran = 0
    for each in blocks("python"):
        if each.page != page or not each.runs or each.launch or each.needs.startswith(("sley.torch", "cupy")):
            continue
        exec(compile(each.text, f"{page}.md:{each.line}", "exec"), names)
        ran += 1
    assert ran > 0
    if page == "PYTHON":
        assert np.allclose(names["y"], names["a"] @ names["x"])


def test_examples_that_are_launched(tmp_path: Path) -> None:
    for each in blocks("python"):
        if each.launch and not each.needs:
            program = tmp_path / "program.py"
            program.write_text(each.text)
            sley.write(scipy.sparse.random(50, 50, density=0.1, random_state=1), tmp_path / "graph.mtx")
            for status, _, errors in launched(each.launch, str(program), cwd=tmp_path):
                assert status == 0, errors


def test_examples_in_c(tmp_path: Path) -> None:
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        pytest.skip("no C compiler")
    whole = [each for each in blocks("c") if "int main" in each.text]
    assert whole
    for each in whole:
        source, program = tmp_path / "program.c", tmp_path / "program"
        source.write_text(each.text)
        subprocess.run([compiler, "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'include'}", source, library_path,
                        f"-Wl,-rpath,{Path(library_path).resolve().parent}", "-o", program], check=True)
        made = subprocess.run([program], capture_output=True, text=True, check=True)
        assert made.stdout == "5 50\n6 60\n"


def test_what_the_documents_name_exists() -> None:
    header = "".join(each.read_text() for each in (ROOT / "include").glob("*.h"))
    for page in PAGES:
        text = (ROOT / "docs" / f"{page}.md").read_text()
        for name in set(re.findall(r"\bsley_\w+\b", text)) - {"sley_mpi", "sley_gnn"}:
            assert name in header, f"{page}: {name}"
        for name in set(re.findall(r"`sley\.([a-z]\w*(?:\.[a-z]\w*)?)", text)):
            place: Any = sley
            if name.split(".")[0] in ("torch", "nn", "h"):
                continue
            for part in name.split("."):
                place = getattr(place, part)


def public() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for module in (sley, sley.dist):
        found.append((module.__name__, module))
        for name in module.__all__:
            item = getattr(module, name)
            found.append((f"{module.__name__}.{name}", item))
            if inspect.isclass(item):
                members = [(key, value) for key, value in vars(item).items() if not key.startswith("_")]
                found += [(f"{module.__name__}.{name}.{key}", value) for key, value in members
                          if callable(value) or isinstance(value, (property, classmethod))]
    return found


@pytest.mark.parametrize(("name", "item"), public(), ids=[name for name, _ in public()])
def test_every_public_name_has_a_docstring(name: str, item: Any) -> None:
    assert inspect.getdoc(item)


def test_the_reference_can_be_made(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    subprocess.run([sys.executable, "-m", "pdoc", "-d", "numpy", "-o", str(tmp_path), "sley", "sley.dist"],
                   check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)})
    assert "spmm" in (tmp_path / "sley.html").read_text()
