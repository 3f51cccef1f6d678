# SPDX-License-Identifier: Apache-2.0
"""Reads graphs, features, labels and splits from the same files as `sley gnn train`."""
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from sley.errors import SleyInputError
from sley.matrix import generate, read


def _archive(path: str, prefix: str) -> Any:
    """The CSR matrix of a .npz whose keys begin with prefix; None if there is no such matrix."""
    if not path.endswith(".npz"):
        return None
    with np.load(path, allow_pickle=False) as file:
        if f"{prefix}shape" not in file:
            return None
        return scipy.sparse.csr_array(tuple(file[prefix + key] for key in ("data", "indices", "indptr")),
                                      shape=tuple(file[prefix + "shape"]))


def graph(name: str, undirected: bool) -> Any:
    """The pattern of the graph as a CSR matrix."""
    a = _archive(name, "adj_")
    if a is None:
        a = (read(name) if Path(name).exists() or ":" not in name else generate(name)).to_scipy()
    if a.shape[0] != a.shape[1]:
        raise SleyInputError(f"{name}: a graph has as many columns as rows, not {a.shape[0]} x {a.shape[1]}")
    return scipy.sparse.csr_array((a + a.T) != 0) if undirected else a


def features(name: str, rows: int, normalize: bool, seed: int) -> np.ndarray:
    """Features: a row of float32 values for each row of the graph."""
    if name.startswith("random:"):
        x = np.random.default_rng(seed).uniform(-1, 1, (rows, _number(name))).astype(np.float32)
    elif name.endswith(".npy"):
        x = np.load(name, allow_pickle=False)
    else:
        a = _archive(name, "attr_")
        x = (read(name).to_scipy() if a is None else a).toarray()
    if x.ndim != 2 or x.shape[0] != rows:
        raise SleyInputError(f"{name}: the graph has {rows} rows, and the features are {' x '.join(map(str, x.shape))}")
    with np.errstate(over="ignore"):
        narrow = x.astype(np.float32)
    strange = np.argwhere(~np.isfinite(narrow))
    if len(strange):
        row, column = strange[0]
        raise SleyInputError(f"{name}: the feature in row {row + 1}, column {column + 1} is {x[row, column]}: networks are "
                             "trained on finite values of f32")
    x = narrow
    sums = np.abs(x).sum(1, keepdims=True) if normalize else np.ones(1, np.float32)
    return x / np.where(sums > 0, sums, 1)


def _number(name: str) -> int:
    text = name.split(":", 1)[1]
    if not text.isdecimal() or int(text) < 1:
        raise SleyInputError(f"{name}: a number from 1 on follows the colon")
    return int(text)


def labels(name: str, rows: int, x: np.ndarray, seed: int) -> np.ndarray:
    """A class for each row, -1 for none. planted:C: the index of the largest of C random sums of the row's features."""
    if name.startswith("planted:"):
        return (x @ np.random.default_rng(seed + 1).normal(size=(x.shape[1], _number(name)))).argmax(1)
    if name.endswith((".npz", ".npy")):
        made = _label_array(name)
    else:
        made = np.array([_label(name, number, line) for number, line in enumerate(_lines(name), 1)])
    if made.shape != (rows,):
        raise SleyInputError(f"{name}: the graph has {rows} rows, and the labels are {' x '.join(map(str, made.shape))}")
    if made.dtype.kind not in "biuf":
        raise SleyInputError(f"{name}: labels are numbers, not {made.dtype}")
    made = made.astype(np.float64)
    made[np.isnan(made)] = -1
    wrong = np.flatnonzero((made < -1) | (made != np.floor(made)) | (made >= rows))
    if len(wrong):
        raise SleyInputError(f"{name}: row {wrong[0] + 1} has {made[wrong[0]]}: a label is a whole number from 0 on, below the "
                             f"number of rows, {rows}, or -1 or nan for none")
    return made.astype(np.int64)


def _label_array(name: str) -> np.ndarray:
    if name.endswith(".npy"):
        return np.asarray(np.load(name, allow_pickle=False))
    with np.load(name, allow_pickle=False) as file:
        key = "labels" if "labels" in file else "y"
        if key not in file:
            raise SleyInputError(f"{name}: there is no array called labels or y")
        return np.asarray(file[key])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").rstrip().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SleyInputError(f"{path}: {error}") from None


def _label(path: str, number: int, line: str) -> float:
    try:
        value = float(line)
    except ValueError:
        value = -2.0
    if value < -1:
        raise SleyInputError(f"{path}, line {number}: expected a class, or -1 for none, not {line!r}")
    return value


def split(path: str | None, classes: np.ndarray, train: int, valid: int, seed: int) -> dict[str, np.ndarray]:
    """Masks of the training, validation and test rows: from the words of a file, or drawn, with train and valid rows
    per class."""
    words = np.full(len(classes), "none", dtype="<U5")
    if path is not None:
        lines = _lines(path)
        lines = [line.strip() for line in lines]
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
