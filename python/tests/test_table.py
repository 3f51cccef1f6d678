# SPDX-License-Identifier: Apache-2.0
"""The ctypes table is that of the headers and of the library."""
import ctypes
import inspect
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sley
from sley import _c
from sley._library import lib

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")
HEADERS = "".join(f"#include <{each.name}>\n" for each in sorted((ROOT / "include").glob("*.h")))
STRUCTS = [each for _, each in inspect.getmembers(_c, inspect.isclass)
           if issubclass(each, ctypes.Structure) and each is not ctypes.Structure]


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == sley.__version__


def test_it_is_up_to_date() -> None:
    pytest.importorskip("pycparser")
    if not shutil.which(CC):
        pytest.skip("no C compiler")
    made = subprocess.run([sys.executable, ROOT / "python/generate_c.py", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_the_library_has_every_function() -> None:
    assert len(_c.FUNCTIONS) > 100
    assert [name for name in _c.FUNCTIONS if not hasattr(lib, name)] == []


def test_structs_are_those_of_a_c_compiler(tmp_path: Path) -> None:
    if not shutil.which(CC):
        pytest.skip("no C compiler")
    assert len(STRUCTS) > 40
    lines, expected = [], []
    for struct in STRUCTS:
        name = struct.__name__
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            where = f"offsetof({name}, {field}), sizeof((({name} *)0)->{field})"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", {where});')
            place = getattr(struct, field)
            expected.append(f"{name}.{field} {place.offset} {place.size}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text(HEADERS + "#include <stdio.h>\nint main(void) {\n" + "\n".join(lines)
                      + "\nreturn 0;\n}\n")
    subprocess.run([CC, "-std=c11", f"-I{ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines() == expected
