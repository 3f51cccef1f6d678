# SPDX-License-Identifier: Apache-2.0
"""Ranks on GPUs, and arrays in their memory: of the library's own, of CuPy, JAX and others. Skipped where there is no
GPU, but CTest runs what needs no other package on the mock device. By hand, on a machine with a GPU:

    SLEY_LIBRARY=build/src/libsley.so python3 -m pytest -q -rs python/tests/test_gpu.py
"""
import ctypes
import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support import assert_product, dense_of, drawn

import sley
import sley.dist
from sley import _c
from sley._foreign import device_array
from sley._library import lib

pytestmark = pytest.mark.skipif(
    not any((each.kind, each.name) == ("device", "cuda") and each.available for each in sley.info().backends),
    reason="no GPU")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

Array = Callable[[np.ndarray], Any]


class DlpackOnly:
    """What another library's array says by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Own:
    """Memory that the library has allocated, with the CUDA array interface: needs no other package."""

    def __init__(self, comm: sley.Comm, array: np.ndarray) -> None:
        self.comm, self.shape, self.dtype = comm, array.shape, array.dtype
        self.address = ctypes.c_void_p()
        comm._run(lambda _, handle: lib.sley_comm_alloc(handle, array.nbytes, ctypes.byref(self.address)))
        self._copy(self.address.value, array.ctypes.data, array.nbytes, _c.sley_copy.SLEY_TO_DEVICE)

    def _copy(self, to: Any, source: Any, size: int, kind: int) -> None:
        self.comm._run(lambda _, handle: lib.sley_comm_copy(handle, to, source, size, int(kind)))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address.value, False), "typestr": self.dtype.str, "shape": self.shape, "strides": None,
                "version": 3}

    def free(self) -> None:
        self.comm._run(lambda _, handle: int(lib.sley_comm_free(handle, self.address) or 0))

    def get(self) -> np.ndarray:
        made = np.empty(self.shape, self.dtype)
        self._copy(made.ctypes.data, self.address.value, made.nbytes, _c.sley_copy.SLEY_TO_HOST)
        return made


def cupy_array(array: np.ndarray) -> Any:
    return pytest.importorskip("cupy").asarray(array)


def jax_array(array: np.ndarray) -> Any:
    jax = pytest.importorskip("jax")
    if not any(each.platform == "gpu" for each in jax.devices()):
        pytest.skip("JAX has no GPU")
    jax.config.update("jax_enable_x64", True)
    return jax.device_put(array)


def numba_array(array: np.ndarray) -> Any:
    pytest.importorskip("numba")
    return importlib.import_module("numba.cuda").to_device(array)


def torch_array(array: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    return torch.from_numpy(array).cuda()


LIBRARIES = [cupy_array, jax_array, torch_array, numba_array]


def on_host(array: Any) -> np.ndarray:
    for name in ("get", "copy_to_host", "cpu"):
        if hasattr(array, name):
            return np.asarray(getattr(array, name)())
    return np.asarray(array)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("transpose", [False, True])
def test_memory_of_ones_own(dtype: str, transpose: bool) -> None:
    a = drawn(300, 200, 3000, 1, dtype)
    exact = dense_of(a).T if transpose else dense_of(a)
    x, y = (np.random.default_rng(i).uniform(-1, 1, (n, 7)).astype(dtype) for i, n in enumerate(exact.shape[::-1]))
    with sley.Comm(device="cuda") as comm, sley.Plan(a, 7, comm=comm, transpose=transpose) as plan:
        given, out = Own(comm, x), Own(comm, y)
        assert plan(given, out=out) is out
        assert_product(out.get(), exact, x, dtype)
        assert np.array_equal(given.get(), x)
        plan(given, out=out, beta=1.0)
        assert_product(out.get(), exact, x, dtype, scale=2.0)
        with pytest.raises(sley.SleyArgumentError, match="give out"):
            plan(given)
        indptr, indices, data = (Own(comm, each) for each in (a.indptr, a.indices, a.data))
        assert np.array_equal(sley.Matrix.from_csr(indptr, indices, data, a.shape).data, a.data)
        for each in (given, out, indptr, indices, data):
            each.free()


@pytest.mark.parametrize("later", [False, True])
def test_top_k_and_collectives_where_arrays_lie(later: bool) -> None:
    values = np.random.default_rng(1).normal(size=5000).astype(np.float32)
    with sley.Comm(device="cuda") as comm, sley.dist.TopK(comm, 5000, density=0.1, residual_factor=0.5) as keep, \
            sley.dist.Collective(comm, "allreduce", 5000, compress="pici") as total:
        given, out = Own(comm, values), Own(comm, values)
        for step in range(2):
            assert keep(given, out=out) is out
            left = keep.residual
            assert np.array_equal(out.get() + left, values + (0.5 * before if step else 0))
            before = left
        work = total(out, out=given, async_op=later)
        assert (work.wait() if later else work) is given
        assert np.array_equal(given.get(), out.get()) and total.info.path == "dense"
        with pytest.raises(sley.SleyArgumentError, match="in host memory"):
            total(values)
        given.free()
        out.free()
    with sley.Comm(2) as comm, sley.dist.Collective(comm, "allreduce", 5000) as total:
        with sley.Comm(device="cuda") as other:
            given = Own(other, values)
            with pytest.raises(sley.SleyArgumentError, match="the ranks work on the cpu"):
                total([given, given])
            given.free()


@pytest.mark.parametrize("make", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 3, 32])
def test_products_where_x_lies(make: Array, dtype: str, k: int) -> None:
    a = drawn(300, 200, 3000, 1, dtype)
    x = np.random.default_rng(1).uniform(-1, 1, (200, k)).astype(dtype)
    given = make(x)
    y = sley.spmm(a, given)
    assert type(y) is type(given)
    assert_product(on_host(y), dense_of(a), x, dtype)
    assert_product(on_host(sley.spmm(a, make(x[:, 0].copy()))), dense_of(a), x[:, 0], dtype)
    back = sley.spmm(a, y, transpose=True)
    assert back.shape == (200, k)


@pytest.mark.parametrize("make", [cupy_array, torch_array])
def test_out_and_leading_dimensions(make: Array) -> None:
    a = drawn(300, 300, 3000, 1)
    room = make(np.random.default_rng(1).uniform(-1, 1, (300, 9)))
    x, out = room[:, 2:7], make(np.ones((300, 5)))
    with sley.Comm(device="cuda") as comm, sley.Plan(a, 5, comm=comm) as plan:
        assert plan(x, out=out, alpha=2.0, beta=1.0) is out
        assert np.allclose(on_host(out), 2.0 * (a @ on_host(x)) + 1.0)
        with pytest.raises(sley.SleyArgumentError, match="values of a row must follow each other"):
            plan(make(np.ones((5, 300))).T)
        with pytest.raises(sley.SleyArgumentError, match="out overlaps x"):
            plan(x, out=x)
        with pytest.raises(sley.SleyArgumentError, match="convert one of them"):
            plan(make(np.ones((300, 5), np.float32)))


@pytest.mark.parametrize("make", [cupy_array, jax_array, torch_array])
def test_dlpack_alone(make: Array) -> None:
    a = drawn(300, 300, 3000, 1)
    x, out = np.random.default_rng(1).random((300, 4)), make(np.zeros((300, 4)))
    assert device_array(DlpackOnly(out)) is not None
    sley.spmm(a, DlpackOnly(make(x)), out=DlpackOnly(out))
    assert np.allclose(on_host(out), a @ x)


def test_work_that_is_enqueued_is_waited_for() -> None:
    """Values of x that another stream still makes when the product is asked for."""
    cupy = pytest.importorskip("cupy")
    a = drawn(2000, 2000, 20000, 1)
    with sley.Comm(device="cuda") as comm, sley.Plan(a, 64, comm=comm) as plan:
        for i in range(20):
            with cupy.cuda.Stream(non_blocking=True):
                x = cupy.zeros((2000, 64))
                for _ in range(200):
                    x += 1
                x += i
                y = plan(x)
                assert np.allclose(cupy.asnumpy(y[:, 0]), (200.0 + i) * a.sum(axis=1))


def test_matrices_of_other_libraries() -> None:
    a = drawn(100, 80, 500, 1, "float32")
    cupy = pytest.importorskip("cupy")
    sparse = importlib.import_module("cupyx.scipy.sparse")
    for each in (sparse.csr_matrix(scipy.sparse.csr_matrix(a)), sparse.coo_matrix(scipy.sparse.coo_matrix(a))):
        assert abs(sley.Matrix(each).to_scipy() - a).max() == 0
    made = sley.Matrix.from_csr(*(cupy.asarray(each) for each in (a.indptr, a.indices, a.data)), a.shape)
    assert abs(made.to_scipy() - a).max() == 0


def test_jax_sparse() -> None:
    jax_array(np.ones(1))
    a = drawn(100, 80, 500, 1, "float32")
    sparse = importlib.import_module("jax.experimental.sparse")
    assert abs(sley.Matrix(sparse.BCSR.from_scipy_sparse(scipy.sparse.csr_matrix(a))).to_scipy() - a).max() == 0


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("algo", ["auto", "halo"])
def test_operands_of_the_host_are_copied(ranks: int, algo: str) -> None:
    a = drawn(300, 300, 3000, 1)
    x, y = (np.random.default_rng(i).uniform(-1, 1, (300, 5)) for i in (1, 2))
    with sley.Comm(ranks, device="cuda") as comm, sley.Plan(a, 5, comm=comm, algo=algo) as plan:
        assert comm.device == "cuda"
        assert_product(plan(x), dense_of(a), x, "float64")
        for out in (y.copy(), np.asfortranarray(y)):
            assert np.allclose(plan(x, out=out, beta=0.5), a @ x + 0.5 * y)
        assert_product(plan(x[::-1]), dense_of(a), x[::-1], "float64")
        assert plan.counted() == plan.info.predicted
        if ranks > 1:
            with sley.Comm(device="cuda") as other, pytest.raises(sley.SleyUnsupportedError, match="memory of one GPU"):
                given = Own(other, x)
                try:
                    plan(given)
                finally:
                    given.free()


def test_no_gpu_memory_leaks() -> None:
    cupy = pytest.importorskip("cupy")
    a, x = drawn(300, 300, 3000, 1), np.ones((300, 4))
    with sley.Comm(device="cuda") as comm:
        def make(count: int) -> None:
            for _ in range(count):
                with sley.Plan(a, 4, comm=comm) as plan:
                    plan(x)
                    plan(cupy.asarray(x))
        make(20)
        before = cupy.cuda.Device().mem_info[0]
        make(200)
        assert before - cupy.cuda.Device().mem_info[0] < 32 << 20


def test_sparse_products_have_the_bits_of_the_cpu() -> None:
    a = sley.generate("rmat:scale=8,edgefactor=6", dtype=np.float64)
    for semiring in ("plus-times", "min-plus"):
        on_cpu = sley.spgemm(a, a, semiring=semiring).to_scipy()
        on_gpu = sley.spgemm(a, a, semiring=semiring, device="cuda").to_scipy()
        assert np.array_equal(on_gpu.indptr, on_cpu.indptr)
        assert np.array_equal(on_gpu.indices, on_cpu.indices)
        assert np.array_equal(on_gpu.data, on_cpu.data)
