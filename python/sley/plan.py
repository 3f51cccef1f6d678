# SPDX-License-Identifier: Apache-2.0
"""Plans: products that are prepared once and executed any number of times."""
import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from sley import _c
from sley._arrays import Indices
from sley._division import Division, new_values
from sley._html import html_table
from sley._kinds import kinds
from sley._library import decoded, encoded, initial, lib, names_of, taken_text
from sley._multiply import Multiplier
from sley._process import Closable
from sley.comm import Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix

_OK = int(_c.sley_status.SLEY_OK)


@dataclass(frozen=True)
class Traffic:
    """Bytes and messages of one product, summed over all ranks.

    *direct* travels inside a workgroup, *message* between workgroups, *self* from a rank to itself.
    """

    direct_bytes: int
    direct_messages: int
    message_bytes: int
    message_messages: int
    self_bytes: int
    self_messages: int

    @classmethod
    def _of(cls, made: _c.sley_traffic) -> Self:
        return cls(**{name: getattr(made, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class PlanInfo:
    """The algorithm of a plan, and its predictions. Figures are totals over all ranks unless stated otherwise.

    Attributes
    ----------
    algo, reason : str
        The algorithm that runs, and the reason for the choice.
    rows, cols, nnz, k : int
        Sizes of the product.
    remote_nnz : int
        Nonzeros whose row of X another rank owns.
    halo_rows : int
        Distinct rows of X that ranks need from others, summed over the ranks.
    cover_rows : int
        Rows of X and partial rows of Y in least covers of all remote blocks; -1 if not computed.
    floor_between, floor_inside : int
        The least number of rows that must move between workgroups, and inside them between ranks; -1 if not
        computed.
    predicted : Traffic
        Bytes and messages of one product.
    predicted_ms : float
        Time of one product.
    memory_bytes : int
        Memory of the plan on the rank that needs most.
    column_width, column_blocks : int
        Width and number of the blocks of columns; the number is 1 if all columns are multiplied at once.
    wire_bound : float
        Upper bound of the error that a narrower wire type adds, relative to |A||X|; 0: none.
    """

    algo: str
    reason: str
    rows: int
    cols: int
    nnz: int
    k: int
    remote_nnz: int
    halo_rows: int
    cover_rows: int
    floor_between: int
    floor_inside: int
    predicted: Traffic
    predicted_ms: float
    memory_bytes: int
    column_width: int
    column_blocks: int
    wire_bound: float

    @classmethod
    def _of(cls, made: _c.sley_plan_info) -> Self:
        values = {name: getattr(made, name) for name in cls.__dataclass_fields__}
        values["algo"], values["reason"] = decoded(made.algo), decoded(made.reason)
        values["predicted"] = Traffic._of(made.predicted)
        return cls(**values)


_COLUMNS = ("algo", "direct MiB", "message MiB", "messages", "predicted ms", "memory MiB")


class PlanTable(Sequence[PlanInfo]):
    """Predicted bytes, time and memory of several algorithms; a sequence of `PlanInfo`."""

    def __init__(self, infos: Sequence[PlanInfo]) -> None:
        self._infos = tuple(infos)

    def __getitem__(self, index: Any) -> Any:
        return self._infos[index]

    def __len__(self) -> int:
        return len(self._infos)

    def _cells(self) -> list[tuple[str, ...]]:
        mib = 1024.0**2
        return [(each.algo, f"{each.predicted.direct_bytes / mib:.3f}", f"{each.predicted.message_bytes / mib:.3f}",
                 str(each.predicted.direct_messages + each.predicted.message_messages), f"{each.predicted_ms:.3f}",
                 f"{each.memory_bytes / mib:.3f}") for each in self._infos]

    def __repr__(self) -> str:
        lines = [_COLUMNS, *self._cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
        return "\n".join("  ".join([line[0].ljust(widths[0]),
                                    *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])
                         for line in lines)

    def _repr_html_(self) -> str:
        return html_table(self._cells(), _COLUMNS)


def algorithms() -> dict[str, str]:
    """The names of the algorithms with a summary of each; "auto" is not among them."""
    return {name: decoded(lib.sley_algorithm_summary(encoded(name))) for name in names_of(lib.sley_algorithms())}


def _destroy(_comm: ctypes.c_void_p, handle: ctypes.c_void_p) -> None:
    lib.sley_plan_destroy(handle)


class Plan(Closable):
    """Y = A X, or A^T X, prepared for k columns of X.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n). With a comm of `sley.dist`, where ranks are processes, each process passes all of A, or its
        own `sley.dist.Rows`.
    k : int
        Columns of X and Y; 0 or more.
    ranks : int, optional
        Number of ranks of a new comm, which is closed with the plan; 1 if `comm` is not given either.
    comm : Comm, optional
        The ranks to multiply on.
    algo : str
        One of `algorithms`, or "auto": the algorithm that is predicted fastest. One that has parameters takes them as
        in "rowwise:ps=4,get=block"; an unknown one is an error that names them.
    transpose : bool
        Y = A^T X: X has m rows and Y has n.
    partition : str
        "nnz" (about equal numbers of nonzeros per rank) or "rows" (equal numbers of rows).
    reproducible : bool
        The same bits for every number of ranks and algorithm.
    wire : str, optional
        "bf16" or "f16": the type in which rows travel. The error is bounded by `PlanInfo.wire_bound`.
    kernel : str, optional
        One of `info().kernels`, for all parts of the plan.
    mem_limit : int
        Greatest number of bytes of the plan on a rank; if necessary, the plan works in blocks of columns. 0: no limit
        except the memory of the device.
    renewable : bool
        `set_values` may replace the values of A. Not with algorithms that send entries of A to other ranks.

    Examples
    --------
    >>> with sley.Plan(a, 32, ranks=4) as plan:
    ...     y = plan(x)
    """

    @kinds
    def __init__(self, a: Any, k: int, *, ranks: int | None = None, comm: Comm | None = None, algo: str = "auto",
                 transpose: bool = False, partition: str = "nnz", reproducible: bool = False, wire: str | None = None,
                 kernel: str | None = None, mem_limit: int = 0, renewable: bool = False) -> None:
        if ranks is not None and comm is not None:
            raise SleyArgumentError("give either ranks or comm")
        if not 0 <= k < 2**63 or not 0 <= mem_limit < 2**63:
            raise SleyArgumentError(f"k is {k} and mem_limit {mem_limit}: neither may be negative or beyond 2^63 - 1")
        self._owns_comm = comm is None
        comm = Comm(1 if ranks is None else ranks) if comm is None else comm
        self._settings: dict[str, Any] = {
            "algo": encoded(algo), "transpose": transpose, "reproducible": reproducible, "wire": encoded(wire),
            "kernel": encoded(kernel), "mem_limit": mem_limit, "renewable": renewable}
        try:
            self._make(Division(a, comm, partition), int(k), comm)
        except BaseException:
            if self._owns_comm:
                comm.close()
            raise

    def _make(self, division: Division, k: int, comm: Comm) -> None:
        options = initial(_c.sley_plan_options, **self._settings)
        begins = division.row_begin.ctypes.data, division.col_begin.ctypes.data

        def make(i: int, handle: ctypes.c_void_p, out: ctypes.c_void_p) -> int:
            return lib.sley_plan_create(handle, division.blocks[i], *begins, k, ctypes.byref(options),
                                        ctypes.byref(out))

        self._division, self._k, self._comm = division, k, comm
        self._read = [division]  # the arrays that the plan reads without a copy while it exists
        self._number, self._handles = comm._make(_destroy, make, self._read)
        self._multiplier = Multiplier(comm, division, self._handles, k, self._settings["transpose"])
        self._forget = weakref.finalize(self, comm._holdings.forget, self._number)
        self.info = self._read_info()

    def _read_info(self) -> PlanInfo:
        made = _c.sley_plan_info()
        self._comm._run(lambda i, _: _OK if i else lib.sley_plan_info_get(self._handles[0], ctypes.byref(made)))
        return PlanInfo._of(made)

    @property
    def matrix(self) -> Matrix:
        """A, with the values of the plan."""
        return self._division.matrix

    @property
    def comm(self) -> Comm:
        """The ranks."""
        return self._comm

    @property
    def k(self) -> int:
        """Columns of X and Y."""
        return self._k

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of Y and rows of X."""
        rows, cols = self._division.shape
        return (cols, rows) if self._settings["transpose"] else (rows, cols)

    @property
    def rows(self) -> slice:
        """The rows of Y in this process: all rows, or the rank's own rows if ranks are processes."""
        return self._here(self._division.col_begin if self._settings["transpose"] else self._division.row_begin)

    @property
    def cols(self) -> slice:
        """The rows of X in this process: all rows, or the rank's own rows if ranks are processes."""
        return self._here(self._division.row_begin if self._settings["transpose"] else self._division.col_begin)

    def _here(self, begin: Indices) -> slice:
        first = self._comm.first
        return slice(int(begin[first]), int(begin[first + self._comm.here]))

    @kinds
    def execute(self, x: Any, *, out: Any = None, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """Y = alpha A X + beta Y.

        Parameters
        ----------
        x : array_like, shape (n, k), or (n,) where k is 1
            X, in the matrix's type or a type that converts to it exactly. It is read without a copy if the values of
            each row are contiguous; otherwise it is copied first. Ranks on GPUs copy it to their memory. If this
            process has one rank, on a GPU, x may also be an array in the memory of this GPU (CuPy, JAX, PyTorch, or any
            library with DLPack or `__cuda_array_interface__`). It is then read in place, after the work that its
            library has enqueued.
        out : ndarray, shape (m, k), or (m,) where k is 1, optional
            Y: writable, of the matrix's type; an array on the GPU if x is on the GPU.
        alpha, beta : float
            With beta = 0 `out` may have any contents.

        Returns
        -------
        ndarray
            `out`, or a new array of shape (m, k), or (m,) for an x of one dimension; for an x on a GPU an array of the
            same library. It is complete when the call returns. If ranks are processes, m and n count the rank's own
            rows: `rows` and `cols`.
        """
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        return self._multiplier.execute(x, out, alpha, beta)

    __call__ = execute

    def set_values(self, values: Any) -> None:
        """Replaces the values of A in a plan made with `renewable`. Later products have the same bits as with a new
        plan. The values are copied. Collective if ranks are processes.

        Parameters
        ----------
        values : array_like of shape (nnz,), or Matrix, or what `Matrix` takes
            Values in the order of `matrix.data`, or a matrix with entries at the same positions; if this process has
            only its own rows of A, for these rows. They have A's type, or a type that converts to it exactly. An array
            is refused if the plan has reordered the entries of the given A: because rows were sorted, or A was not CSR.
        """
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        if not self._settings["renewable"]:
            raise SleyArgumentError("the plan was not made with renewable=True")
        matrix = self.matrix._with_values(new_values(self.matrix, values))
        division = self._division.with_values(matrix, self._comm)
        local = division.local
        bytes_at = (local.indptr[division.row_at] - local.indptr[0]) * local.dtype.itemsize
        addresses = (local.data.ctypes.data + bytes_at).tolist()
        self._read.append(division)  # both are kept until all ranks have the new values
        self._comm._run(lambda i, _: lib.sley_plan_set_values(self._handles[i], addresses[i]))
        self._division = division
        self._read[:] = [self._read[0], division]  # the first division owns the pattern

    def _run(self, job: Any) -> None:
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        self._comm._run(job)

    def transpose(self) -> "Plan":
        """A plan of the transposed product, with the same options, on the same comm. If this plan made its own comm,
        closing this plan also closes the new plan."""
        made = Plan.__new__(Plan)
        made._owns_comm = False
        made._settings = {**self._settings, "transpose": not self._settings["transpose"]}
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        made._make(self._division, self._k, self._comm)
        return made

    def table(self, algos: Sequence[str] | None = None) -> PlanTable:
        """Predicted bytes, time and memory of algorithms for this product, with this plan's options.

        Parameters
        ----------
        algos : sequence of str, optional
            Some of `algorithms`, or "auto"; by default all. It is an error if an algorithm does not support an option
            of the plan.

        Returns
        -------
        PlanTable
        """
        names = list(algorithms()) if algos is None else list(algos)
        asked = (ctypes.c_char_p * (len(names) + 1))(*(encoded(name) for name in names), None)
        options = initial(_c.sley_plan_options, **self._settings)
        outs = [ctypes.c_void_p() for _ in range(self._comm.here)]
        division, infos = self._division, [_c.sley_plan_info() for _ in names]
        texts: list[PlanInfo] = []

        def compare(i: int, comm: ctypes.c_void_p) -> int:
            status = lib.sley_plan_compare(comm, division.blocks[i], division.row_begin.ctypes.data,
                                           division.col_begin.ctypes.data, self._k, ctypes.byref(options), asked,
                                           ctypes.byref(outs[i]))
            for j in range(len(names) if i == 0 else 0):
                status = status or lib.sley_comparison_get(outs[0], j, ctypes.byref(infos[j]))
            if i == 0 and not status:
                texts.extend(PlanInfo._of(each) for each in infos)
            lib.sley_comparison_destroy(outs[i])
            return status

        self._run(compare)
        return PlanTable(texts)

    def counted(self) -> Traffic:
        """Counted traffic of the last product."""
        made = [_c.sley_traffic() for _ in self._handles]
        self._run(lambda i, _: lib.sley_plan_counted(self._handles[i], ctypes.byref(made[i])))
        return Traffic._of(made[0])

    def describe(self) -> list[str]:
        """Steps, buffers and exchanges of each rank of this process, as text."""
        outs = [ctypes.c_void_p() for _ in self._handles]
        try:
            self._run(lambda i, _: lib.sley_plan_describe(self._handles[i], ctypes.byref(outs[i])))
        finally:
            texts = [taken_text(out) for out in outs]
        return texts

    @property
    def closed(self) -> bool:
        """Whether the plan, or its comm, is closed."""
        return not self._forget.alive or self._comm.closed

    def close(self) -> None:
        """Destroys the plan, and its comm if the plan made it. Later calls do nothing."""
        if self._forget.detach() is not None:
            self._comm._remove(self._number)
        if self._owns_comm:
            self._comm.close()

    def __repr__(self) -> str:
        rows, cols = self.shape
        return (f"<sley.Plan {rows} x {cols}, k = {self._k}, {self._comm.size} "
                f"rank{'s' if self._comm.size > 1 else ''}, {self.info.algo}{', closed' if self.closed else ''}>")

    def _repr_html_(self) -> str:
        info = self.info
        return html_table([("algorithm", info.algo), ("reason", info.reason), ("rows of Y", self.shape[0]),
                           ("rows of X", self.shape[1]), ("k", info.k), ("nonzeros", info.nnz),
                           ("ranks", self._comm.size), ("remote nonzeros", info.remote_nnz),
                           ("halo rows", info.halo_rows), ("direct bytes", info.predicted.direct_bytes),
                           ("message bytes", info.predicted.message_bytes),
                           ("predicted ms", round(info.predicted_ms, 6))])
