# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: DLPack and the CUDA array interface.

Here stand-ins have nothing but the protocol; test_gpu.py does the same with CuPy and JAX on a GPU.
"""
import ctypes
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support import drawn

import sley
from sley._foreign import device_array, empty_like

A = drawn(20, 20, 80, 1, "float32")
X = np.random.default_rng(1).random((20, 4), np.float32)


class OnlyDlpack:
    """An array of the host that has DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class SaysCuda(OnlyDlpack):
    """The same, which says that its memory is a GPU's; how often it was given back is counted by its owner's life."""

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        assert stream == 1
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


class Cuda:
    """An array with the CUDA array interface, at an address that is not read."""

    def __init__(self, array: np.ndarray, **more: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.ctypes.data, not array.flags.writeable), "typestr": array.dtype.str, "shape": array.shape,
            "strides": array.strides, "version": 3, **more}


def test_dlpack_of_the_host_is_read_where_it_lies() -> None:
    indptr = A.indptr.astype(np.int64)
    made = sley.Matrix.from_csr(*(OnlyDlpack(each) for each in (indptr, A.indices, A.data)), A.shape, copy=False)
    assert made.data.ctypes.data == A.data.ctypes.data and made.indices.ctypes.data == A.indices.ctypes.data
    assert np.allclose(sley.spmm(made, OnlyDlpack(X)), A @ X)
    assert np.allclose(sley.spmm(OnlyDlpack(A.toarray()), X), A @ X)
    by_places = sley.Matrix.from_coo(*(OnlyDlpack(each) for each in (A.tocoo().row, A.tocoo().col, A.data)), A.shape)
    assert abs(by_places.to_scipy() - A).max() == 0


def test_results_of_the_host_go_out_by_dlpack() -> None:
    y = sley.spmm(A, X)
    assert np.from_dlpack(y).ctypes.data == y.ctypes.data


@pytest.mark.parametrize("kind", [SaysCuda, Cuda])
def test_an_array_on_a_gpu_is_described_and_not_read(kind: type) -> None:
    given = kind(X[:, :3])
    made = device_array(given)
    assert made is not None and made.given is given
    assert made.array.ctypes.data == X.ctypes.data
    assert (made.array.shape, made.array.strides, made.array.dtype) == ((20, 3), X.strides, X.dtype)
    assert made.stream == (1 if kind is SaysCuda else None)


def test_dlpack_is_given_back_once() -> None:
    class Owner:
        alive = 0

        def __init__(self) -> None:
            Owner.alive += 1
            self.room = (ctypes.c_float * 4)()
            self.__array_interface__ = {"data": (ctypes.addressof(self.room), False), "typestr": "<f4", "shape": (4,),
                                        "version": 3}

        def __del__(self) -> None:
            Owner.alive -= 1

    for _ in range(100):
        made = device_array(SaysCuda(np.asarray(Owner())))
        assert made is not None and Owner.alive == 1
        view = made.array[1:]
        del made
        assert Owner.alive == 1 and view.shape == (3,)
        del view
        assert Owner.alive == 0


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_empty_arrays_on_a_gpu(shape: tuple[int, ...]) -> None:
    made = device_array(Cuda(np.empty(shape, np.float64), data=(0, False), strides=None))
    assert made is not None and made.array.shape == shape


def test_streams_and_read_only_arrays() -> None:
    made = device_array(Cuda(X, stream=7, strides=None))
    assert made is not None and made.stream == 7 and made.array.flags.writeable
    kept = X.copy()
    kept.flags.writeable = False
    made = device_array(Cuda(kept))
    assert made is not None and not made.array.flags.writeable
    made = device_array(Cuda(kept), fresh=True)
    assert made is not None and made.array.flags.writeable


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_an_array_on_a_gpu_is_printed_without_its_values(dtype: str) -> None:
    """As reports of failed tests and debuggers do: this address cannot be read."""
    given = Cuda(np.empty((3, 2), dtype), data=(4096, False), strides=None)
    made = device_array(given)
    assert made is not None
    for each in (made.array, made.array[:, :1], made.array[0]):
        assert "GPU's memory at 0x1000" in repr(each) and dtype in str(each)


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(sley.SleyUnsupportedError, match="mask"):
        device_array(Cuda(X, mask=Cuda(X)))
    with pytest.raises(sley.SleyArgumentError, match="give out"):
        empty_like((2,), device_array(Cuda(X)))
    with sley.Plan(A, 4) as plan:
        with pytest.raises(sley.SleyArgumentError, match="x is in a GPU's memory, and the ranks work on the cpu"):
            plan(Cuda(X))
        with pytest.raises(sley.SleyArgumentError, match="out is in a GPU's memory, and x, ndarray, is not"):
            plan(X, out=Cuda(X))
    with pytest.raises(sley.SleyArgumentError, match="some of the arrays"):
        sley.Matrix.from_csr(A.indptr, Cuda(A.indices), Cuda(A.data), A.shape)
    with pytest.raises(sley.SleyUnsupportedError, match="sddmm takes arrays of the host"):
        sley.sddmm(A, Cuda(X), X)


def test_arrays_that_refuse_the_question_are_not_on_a_gpu() -> None:
    class Refuses(np.ndarray):
        @property
        def __cuda_array_interface__(self) -> Any:
            raise RuntimeError("not on a GPU")

    class List:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return X

        @property
        def __cuda_array_interface__(self) -> Any:
            raise TypeError("not on a GPU")

    assert np.allclose(sley.spmm(A, List()), A @ X)
    assert np.allclose(sley.spmm(A, X.view(Refuses)), A @ X)
    assert isinstance(sley.spmm(scipy.sparse.csr_matrix(A), X), np.ndarray)


@pytest.mark.skipif(any(each.name == "cuda" and each.available for each in sley.info().backends), reason="a GPU")
def test_without_a_gpu_the_librarys_message_comes() -> None:
    with pytest.raises(sley.SleyUnsupportedError):
        sley.Comm(device="cuda")
    with pytest.raises(sley.SleyUnsupportedError):
        sley.spmm(A, Cuda(X))
    assert sley.Comm(device="auto").device == "cpu" and sley.Comm().device == "cpu"
    with pytest.raises(sley.SleyArgumentError, match="nonsense"):
        sley.Comm(device="nonsense")
