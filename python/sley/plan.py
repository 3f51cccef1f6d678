# SPDX-License-Identifier: Apache-2.0
"""Plans: a product that is prepared once and executed as often as one likes."""
import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from sley import _c
from sley._arrays import Indices
from sley._division import Division, new_values
from sley._html import html_table
from sley._library import decoded, encoded, initial, lib, names_of, taken_text
from sley._multiply import Multiplier
from sley._process import NotCopied
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
    """What a plan does, and what is predicted of it; figures are of all ranks together unless said.

    Attributes
    ----------
    algo, reason : str
        The algorithm that runs, and why.
    rows, cols, nnz, k : int
        Of the product.
    remote_nnz : int
        Nonzeros whose row of X another rank owns.
    halo_rows : int
        Distinct rows of X that each rank needs of others.
    cover_rows : int
        Rows of X and partial rows of Y in least covers of all remote blocks; -1 if not computed.
    predicted : Traffic
        Of one product.
    predicted_ms : float
        Its time.
    memory_bytes : int
        That the plan takes on the rank that needs most.
    column_width, column_blocks : int
        Columns of a block, and how many blocks; 1 where all columns go at once.
    wire_bound : float
        What travelling in a narrower type adds to the error at most, relative to |A||X|; 0: nothing.
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
    """What each of several algorithms would move, take and need; a sequence of `PlanInfo`."""

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
    """The names of the algorithms, and a line about each; "auto" is not among them."""
    return {name: decoded(lib.sley_algorithm_summary(encoded(name))) for name in names_of(lib.sley_algorithms())}


def _destroy(_comm: ctypes.c_void_p, handle: ctypes.c_void_p) -> None:
    lib.sley_plan_destroy(handle)


class Plan(NotCopied):
    """Y = A X, or A^T X, prepared for k columns of X.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n). With a comm of `sley.dist`, where ranks are processes, each gives all of it, or its own
        `sley.dist.Rows`.
    k : int
        Columns of X and Y; 0 or more.
    ranks : int, optional
        Makes a comm of so many ranks, which ends with the plan; 1 where `comm` is not given either.
    comm : Comm, optional
        The ranks to multiply on.
    algo : str
        One of `algorithms`, or "auto": the one that is predicted fastest. One that has parameters takes them as
        in "rowwise:ps=4,get=block"; an unknown one is an error that names them.
    transpose : bool
        Y = A^T X: X has m rows and Y has n.
    partition : str
        "nnz" (ranks have about equal numbers of nonzeros) or "rows".
    reproducible : bool
        The same bits for every number of ranks and algorithm.
    wire : str, optional
        "bf16" or "f16": rows travel in that type. The error is bounded by `PlanInfo.wire_bound`.
    kernel : str, optional
        One of `info().kernels`, for all parts of the plan.
    mem_limit : int
        Bytes that a rank may take for the plan; it then works in blocks of columns. 0: all that there are.
    renewable : bool
        The plan takes new values by `set_values`. Not with algorithms that give entries of A to other ranks.

    Examples
    --------
    >>> with sley.Plan(a, 32, ranks=4) as plan:
    ...     y = plan(x)
    """

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
            self._make(Division(a, comm, partition), k, comm)
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
        self._read = [division]  # what the plan reads where it lies, as long as it lives
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
        """A, with the values that the plan multiplies by."""
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
        """Which rows of Y this process has: all, or where ranks are processes the rank's own."""
        return self._here(self._division.col_begin if self._settings["transpose"] else self._division.row_begin)

    @property
    def cols(self) -> slice:
        """Which rows of X this process has."""
        return self._here(self._division.row_begin if self._settings["transpose"] else self._division.col_begin)

    def _here(self, begin: Indices) -> slice:
        first = self._comm.first
        return slice(int(begin[first]), int(begin[first + self._comm.here]))

    def execute(self, x: Any, *, out: Any = None, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """Y = alpha A X + beta Y.

        Parameters
        ----------
        x : array_like, shape (n, k), or (n,) where k is 1
            Of the matrix's type, or one that it holds exactly. Rows whose values follow each other are read where
            they lie; anything else is copied first. Ranks on GPUs copy it to theirs. Or, with one rank on a GPU in
            this process, an array in its memory (CuPy, JAX, PyTorch, or whatever has DLPack or
            `__cuda_array_interface__`), which is read where it lies, after what its library has enqueued.
        out : ndarray, shape (m, k), or (m,) where k is 1, optional
            Y: writable, of the matrix's type; an array on the GPU if x is.
        alpha, beta : float
            With beta = 0 `out` may have any contents.

        Returns
        -------
        ndarray
            `out`, or a new array of shape (m, k), or (m,) for an x of one dimension; for an x on a GPU one of the same
            library. It is complete. Where ranks are processes m and n are the rank's own rows: `rows` and `cols`.
        """
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        return self._multiplier.execute(x, out, alpha, beta)

    __call__ = execute

    def set_values(self, values: Any) -> None:
        """New values for the entries of A, of a plan made with `renewable`: products from then on have the bits of a
        new plan. The values are copied. Collective where ranks are processes.

        Parameters
        ----------
        values : array_like of shape (nnz,), or Matrix, or what `Matrix` takes
            In the order of `matrix.data`, or a matrix with entries in the same places; where this process has only its
            own rows of A, of these. Of A's type, or one that it holds exactly. An array is refused where the plan has
            the entries in another order than the A that was given: where rows were sorted, or A was not CSR.
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
        self._read.append(division)  # until all ranks have it
        self._comm._run(lambda i, _: lib.sley_plan_set_values(self._handles[i], addresses[i]))
        self._division = division
        self._read[:] = [self._read[0], division]  # the first has the places

    def _run(self, job: Any) -> None:
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        self._comm._run(job)

    def transpose(self) -> "Plan":
        """A plan of the transposed product, with the same options, on the same comm; if the comm is this plan's own,
        the new plan ends with it."""
        made = Plan.__new__(Plan)
        made._owns_comm = False
        made._settings = {**self._settings, "transpose": not self._settings["transpose"]}
        if self.closed:
            raise SleyArgumentError("the plan is closed")
        made._make(self._division, self._k, self._comm)
        return made

    def table(self, algos: Sequence[str] | None = None) -> PlanTable:
        """What algorithms would move, take and need for this product, with this plan's options.

        Parameters
        ----------
        algos : sequence of str, optional
            Some of `algorithms`, or "auto"; by default all. Not all serve every option, which is an error.

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
        """What travelled in the last product."""
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
        """Whether the plan, or its comm, has ended."""
        return not self._forget.alive or self._comm.closed

    def close(self) -> None:
        """Destroys the plan, and the comm if it is the plan's own. Later calls do nothing."""
        if self._forget.detach() is not None:
            self._comm._remove(self._number)
        if self._owns_comm:
            self._comm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
