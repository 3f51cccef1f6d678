# SPDX-License-Identifier: Apache-2.0
"""Top-k with error feedback over arrays of NumPy, PyTorch and others."""
import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sley import _c
from sley._collective import Prepared, refuse_shared
from sley._library import initial, lib
from sley._values import WHOLE, Values, code_of_name, empty, readable, type_name, writable
from sley.comm import Comm
from sley.errors import SleyArgumentError


@dataclass(frozen=True)
class TopKInfo:
    """Figures of the last run of a top-k on a rank."""

    count: int  # number of values of the gradient
    sample: int  # number of values of the sample
    kept: int  # number of values that were kept and are not zero
    threshold: float  # least magnitude that is kept


class TopK(Prepared):
    """Keeps the values of an array that are largest in magnitude; the others stay in a residual, which is added to the
    next array (error feedback).

    With g the array, r the residual, f the factor and t the threshold, a run computes

        s = g + f r;    out = s where |s| >= t, else 0;    r = s - out

    where f r is rounded to the residual's type, float64 for float64 and float32 for other types. t is the
    (density x sample)-th largest |s| of a sample.

    Parameters
    ----------
    comm : Comm
        A comm of `sley.dist.init`, or a `sley.Comm`, whose ranks are threads. Each rank has its own residual. Nothing is
        sent.
    count : int
        Number of values of the array.
    dtype : dtype
        float16, float32, float64 or bfloat16, of NumPy or of PyTorch.
    density : float
        Share of values to keep, 0 < density <= 1.
    sample : float
        Share of values from which the threshold is estimated, 0 < sample <= 1; at least 64 / density values are used.
    seed : int
        Seed of the sample's positions, which are the same in every run.
    residual_factor : float
        The factor f, from 0 to 1. 1: nothing is lost; less: the residual is leaky; 0: no error feedback.

    Examples
    --------
    >>> keep = sley.dist.TopK(comm, gradient.size, density=0.01, residual_factor=0.9)
    >>> total(keep(gradient), out=gradient)         # total: a Collective with compress="auto"
    """

    def __init__(self, comm: Comm, count: int, dtype: Any = np.float32, *, density: float = 0.01,
                 sample: float = 0.001, seed: int = 1, residual_factor: float = 1.0) -> None:
        self._count, self._dtype = count, type_name(dtype)
        self._code = code_of_name(self._dtype)
        if self._dtype in WHOLE:
            raise SleyArgumentError(f"a top-k is of floating-point values, not of {self._dtype}")
        options = initial(_c.sley_topk_options, dtype=self._code, count=int(count), density=density, sample=sample, seed=seed,
                          residual_factor=residual_factor)
        super().__init__(comm, lib.sley_topk_destroy,
                         lambda handle, out: int(lib.sley_topk_create(handle, ctypes.byref(options), out)), None)

    def _operands(self, src: Any, out: Any) -> tuple[Values, Values]:
        read = readable(src, "src", self._comm.device)
        made = empty(read.shape, self._code, self._dtype, read) if out is None else \
            writable(out, "out", self._comm.device)._replace(given=out)
        for what, each in (("src", read), ("out", made)):
            if each.dtype != self._dtype or each.size != self._count:
                raise SleyArgumentError(f"{what} has {each.size} values of type {each.dtype}: expected {self._count} of "
                                        f"{self._dtype}")
        if read.overlaps(made) and read.address != made.address:
            raise SleyArgumentError("out overlaps src: give src itself, or another array")
        return read, made

    def run(self, src: Any, *, out: Any = None, async_op: bool = False) -> Any:
        """Adds the residual to src, and keeps the largest sums. Not collective.

        Parameters
        ----------
        src : array_like
            The array, in the top-k's type and any shape, in the memory of the comm's device. If the ranks are several
            threads of this process: a list with an array for each rank.
        out : array, optional
            The result: writable, contiguous; it may be src.
        async_op : bool
            True: return at once. Later calls on the comm start after it.

        Returns
        -------
        array, list of arrays, or Work
            The sums that were kept, and 0 elsewhere: `out`, or a new array of the library and shape of src. With
            async_op: a `Work`, whose `wait()` returns this.
        """
        self._check_open()
        sources = self._each(src, "src")
        outs = [None] * len(sources) if out is None else self._each(out, "out")
        pairs = [self._operands(one, other) for one, other in zip(sources, outs, strict=True)]
        read, made = [one for one, _ in pairs], [other for _, other in pairs]
        refuse_shared(read, made)
        return self._start(lib.sley_topk_run, read, made, async_op)

    __call__ = run

    @property
    def info(self) -> TopKInfo | list[TopKInfo]:
        """Figures of the last run on this rank; if the ranks are several threads of this process, a list of them."""
        found = [TopKInfo(each.count, each.sample, each.kept, each.threshold)
                 for each in self._infos(_c.sley_topk_info, lib.sley_topk_info_get)]
        made: TopKInfo | list[TopKInfo] = self._one(found)
        return made

    @property
    def residual(self) -> Any:
        """A copy of the residual, for checkpoints, in host memory; if the ranks are several threads of this process, a
        list of them. It may be assigned."""
        self._check_open()
        made = [np.empty(self._count, self._residual_dtype) for _ in self._handles]
        self._comm._run(lambda i, _: lib.sley_topk_residual_get(self._handles[i], made[i].ctypes.data))
        return self._one(made)

    @residual.setter
    def residual(self, values: Any) -> None:
        self._check_open()
        given: list[npt.NDArray[Any]] = [np.ascontiguousarray(each, self._residual_dtype)
                                         for each in self._each(values, "residual")]
        if any(each.size != self._count for each in given):
            raise SleyArgumentError(f"residual has {given[0].size} values: expected {self._count}")
        self._comm._run(lambda i, _: lib.sley_topk_residual_set(self._handles[i], given[i].ctypes.data))

    @property
    def _residual_dtype(self) -> npt.DTypeLike:
        return np.float64 if self._dtype == "float64" else np.float32

    def __repr__(self) -> str:
        return f"<sley.dist.TopK of {self._count} {self._dtype}{', closed' if self.closed else ''}>"
