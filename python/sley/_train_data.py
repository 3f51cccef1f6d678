# SPDX-License-Identifier: Apache-2.0
"""Graphs, features, labels and splits of files, as `sley gnn train` takes them."""
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from sley._dense import promoted
from sley.errors import SleyInputError
from sley.matrix import generate, read


def _archive(path: str, prefix: str) -> Any:
    """The CSR matrix of a .npz whose keys begin with prefix; None: it has none."""
    if not path.endswith(".npz"):
        return None
    with np.load(path, allow_pickle=False) as file:
        if f"{prefix}shape" not in file:
            return None
        return scipy.sparse.csr_array(tuple(file[prefix + key] for key in ("data", "indices", "indptr")),
                                      shape=tuple(file[prefix + "shape"]))


def graph(name: str, undirected: bool) -> Any:
    """Where the graph has entries, as a CSR matrix."""
    a = _archive(name, "adj_")
    if a is None:
        a = (read(name) if Path(name).exists() or ":" not in name else generate(name)).to_scipy()
    if a.shape[0] != a.shape[1]:
        raise SleyInputError(f"{name}: a graph has as many columns as rows, not {a.shape[0]} x {a.shape[1]}")
    return scipy.sparse.csr_array((a + a.T) != 0) if undirected else a


def features(name: str, rows: int, normalize: bool, seed: int) -> np.ndarray:
    """A row of float32 for each row of the graph."""
    if name.startswith("random:"):
        x = np.random.default_rng(seed).uniform(-1, 1, (rows, _number(name))).astype(np.float32)
    elif name.endswith(".npy"):
        x = np.load(name, allow_pickle=False)
    else:
        a = _archive(name, "attr_")
        x = (read(name).to_scipy() if a is None else a).toarray()
    if x.ndim != 2 or x.shape[0] != rows:
        raise SleyInputError(f"{name}: the graph has {rows} rows, and the features are {' x '.join(map(str, x.shape))}")
    x = promoted(x, np.float32)
    sums = np.abs(x).sum(1, keepdims=True) if normalize else np.ones(1, np.float32)
    return x / np.where(sums > 0, sums, 1)


def _number(name: str) -> int:
    text = name.split(":", 1)[1]
    if not text.isdecimal() or int(text) < 1:
        raise SleyInputError(f"{name}: a number from 1 on follows the colon")
    return int(text)


def labels(name: str, rows: int, x: np.ndarray, seed: int) -> np.ndarray:
    """A class for each row, -1 for none. planted:C: that of the largest of C random sums of the row's features."""
    if name.startswith("planted:"):
        return (x @ np.random.default_rng(seed + 1).normal(size=(x.shape[1], _number(name)))).argmax(1)
    if name.endswith(".npz"):
        with np.load(name, allow_pickle=False) as file:
            if "labels" not in file:
                raise SleyInputError(f"{name}: there is no array called labels")
            made = file["labels"]
    else:
        made = np.array([_label(name, number, line) for number, line in enumerate(_lines(name), 1)], np.int64)
    if made.shape != (rows,):
        raise SleyInputError(f"{name}: the graph has {rows} rows, and there are {len(made)} labels")
    return made.astype(np.int64)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise SleyInputError(f"{path}: {error}") from None


def _label(path: str, number: int, line: str) -> int:
    try:
        value = int(line)
    except ValueError:
        value = -2
    if value < -1:
        raise SleyInputError(f"{path}, line {number}: expected a class, or -1 for none, not {line!r}")
    return value


def split(path: str | None, classes: np.ndarray, train: int, valid: int, seed: int) -> dict[str, np.ndarray]:
    """Masks of rows to train on, for validation and for the test: of a file's words, or drawn, so many of a class."""
    words = np.full(len(classes), "none", dtype="<U5")
    if path is not None:
        lines = _lines(path)
        for number, line in enumerate(lines, 1):
            if line not in ("train", "valid", "test", "none"):
                raise SleyInputError(f"{path}, line {number}: expected train, valid, test or none, not {line!r}")
        if len(lines) != len(classes):
            raise SleyInputError(f"{path}: the graph has {len(classes)} rows, and there are {len(lines)} lines")
        words[:] = lines
    else:
        order = np.random.default_rng(seed).permutation(len(classes))
        for each in range(int(classes.max(initial=-1)) + 1):
            rows = order[classes[order] == each]
            words[rows[:train]] = "train"
            words[rows[train:train + valid]] = "valid"
            words[rows[train + valid:]] = "test"
    return {name: words == name for name in ("train", "valid", "test")}
