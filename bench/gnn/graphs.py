# SPDX-License-Identifier: Apache-2.0
"""Graphs, features and labels of data sets, in the form that `sley gnn --undirected --normalize` uses."""
import numpy as np
import scipy.io
import scipy.sparse


def matrix(path, prefix):
    """A Matrix Market file, or the matrix in a .npz whose keys have the prefix; None if there is none."""
    if not path.endswith(".npz"):
        return scipy.sparse.csr_matrix(scipy.io.mmread(path))
    with np.load(path, allow_pickle=False) as archive:
        key = prefix if prefix + "shape" in archive else ""
        return scipy.sparse.csr_matrix((archive[key + "data"], archive[key + "indices"], archive[key + "indptr"]),
                                       shape=archive[key + "shape"])


def edges(path):
    """Both directions of each entry, without repeats, as an edge_index."""
    a = matrix(path, "adj_")
    a = ((a + a.T) != 0).tocoo()
    return np.stack([a.row, a.col]).astype(np.int64)


def features(path):
    """Features, with each row divided by the sum of its magnitudes."""
    x = matrix(path, "attr_").astype(np.float32).toarray()
    sums = np.abs(x).sum(1, keepdims=True)
    return x / np.where(sums > 0, sums, 1)


def labels(path):
    if path.endswith(".npz"):
        with np.load(path, allow_pickle=False) as archive:
            return archive["labels"].astype(np.int64)
    return np.loadtxt(path, dtype=np.int64)
