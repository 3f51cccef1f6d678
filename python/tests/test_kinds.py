# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong kinds: SleyArgumentError, with the name of the argument."""
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import sley
from sley import _kinds

A, X = scipy.sparse.csr_array(np.eye(5)), np.ones((5, 2))
M = sley.Matrix(A)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {  # with arguments, and the names to be wrong
    "Plan": (sley.Plan, (A,), "k ranks comm algo partition wire kernel mem_limit"),
    "Comm": (sley.Comm, (), "ranks workgroup threads device trace"),
    "spmm": (sley.spmm, (A, X), "ranks comm algo alpha beta wire grid tiles columns buffers"),
    "spgemm": (sley.spgemm, (A, A), "semiring mem_limit threads device ranks comm algo grid tiles columns buffers"),
    "sddmm": (sley.sddmm, (A, X, X), "ranks comm"),
    "order": (sley.order, (A,), "name seed threads"),
    "partition": (sley.partition, (A,), "ranks by"),
    "read": (sley.read, (), "path"),
    "read more": (sley.read, ("graph.mtx",), "dtype threads format base"),
    "generate": (sley.generate, (), "spec"),
    "generate more": (sley.generate, ("er:n=5,nnz=5",), "dtype seed"),
    "Matrix": (sley.Matrix, (A,), "dtype"),
    "from_csr": (sley.Matrix.from_csr, ([0, 1], [0], [1.0]), "shape"),
    "from_coo": (sley.Matrix.from_coo, ([0], [0], [1.0]), "shape"),
    "transpose": (M.transpose, (), "threads"),
    "undirected": (M.undirected, (), "threads"),
    "permute": (M.permute, (), "threads"),
    "write": (M.write, (), "path"),
    "TiledMatrix": (sley.TiledMatrix, (A,), "ranks comm grid tiles dtype"),
    "roofline": (sley.roofline, (A, 2), "ranks algo"),
    "cache_limit": (sley.cache_limit, (), "limit"),
    "cache_info": (sley.cache_info, (), "matrix"),
    "cache_clear": (sley.cache_clear, (), "matrix"),
}


class Nothing:
    """A kind that no argument has."""


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wrong", [Nothing(), 2.5j])
def test_wrong_kinds(name: str, wrong: Any) -> None:
    function, arguments, names = FUNCTIONS[name]
    for each in names.split():
        with pytest.raises(sley.SleyArgumentError, match=f"{each} is "):
            function(*arguments, **{each: wrong})


def test_by_position_and_none() -> None:
    with pytest.raises(sley.SleyArgumentError, match="k is '3', of type str: it must be a whole number"):
        sley.Plan(A, "3")
    with pytest.raises(sley.SleyArgumentError, match="k is None"):
        sley.Plan(A, None)  # type: ignore[arg-type]
    with pytest.raises(sley.SleyArgumentError, match="k is True"):
        sley.Plan(A, True)
    with sley.Plan(A, np.int32(2), ranks=None, wire=None) as plan:
        assert np.array_equal(plan(X), X)


def test_lists_of_types_are_whole() -> None:
    with pytest.raises(sley.SleyArgumentError) as caught:
        M.astype("int32")
    with pytest.raises(sley.SleyUnsupportedError) as refused:
        sley.Matrix(A.astype(complex))
    for each in ("float16", "float32", "float64", "bfloat16"):
        assert each in str(caught.value)
        assert each in str(refused.value)
    assert set(_kinds._OF_NAME) >= {"k", "algo", "comm", "dtype", "path"}
