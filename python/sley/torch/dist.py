# SPDX-License-Identifier: Apache-2.0
"""Graphs whose rows are divided among ranks, and other functions for training on them."""
import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import torch

from sley import _c
from sley._arrays import array_at
from sley._calls import create, value_of
from sley._library import encoded, initial, lib
from sley.comm import Comm
from sley.errors import SleyArgumentError
from sley.matrix import reading
from sley.torch._pattern import Block, Pattern
from sley.torch._rank import Handle, Rank, check, code_of, require
from sley.torch._transform import aside, numbers_of
from sley.torch.graph import Operand

_OK = int(_c.sley_status.SLEY_OK)


def on_ranks(comm: Comm, function: Callable[[Rank], Any]) -> list[Any]:
    """Runs function(rank) on every rank of a `sley.Comm`, each in its own thread, and waits; returns their results.

    Graphs and plans that function creates exist until the comm is closed. On GPUs each rank needs its own GPU. The
    backward pass of a GPU tensor cannot call this: autograd has one thread per GPU, which cannot wait for a rank that
    needs the same thread. Both cases raise SleyArgumentError.
    """
    _check_threads_of_gpus(comm)
    ranks = getattr(comm, "_torch_ranks", None)
    if ranks is None:
        ranks = comm._torch_ranks = [None] * comm.size  # type: ignore[attr-defined]
        comm._holdings.add(_close, ranks, None)
    results: list[Any] = [None] * comm.size

    def job(number: int, handle: ctypes.c_void_p) -> int:
        if ranks[number] is None:
            ranks[number] = Rank(handle, _device_of(handle, number))
        results[number] = function(ranks[number])
        return _OK

    comm._run(job)
    return results


def _check_threads_of_gpus(comm: Comm) -> None:
    """Refuses calls that would wait forever for autograd's thread of a GPU."""
    if comm.size == 1 or comm.device == "cpu":
        return
    gpus = torch.cuda.device_count()
    if comm.size > gpus:
        raise SleyArgumentError(f"on_ranks: {comm.size} ranks are threads on {gpus} GPU{'s' * (gpus > 1)}, but autograd "
                                "has one thread for each: use no more ranks than GPUs, or processes (sley.dist.init)")
    # The threading module does not know autograd's threads; a CPU tensor's backward pass runs in the caller's thread.
    autograds = isinstance(threading.current_thread(), threading._DummyThread)
    if autograds and torch._C._current_graph_task_id() != -1:
        raise SleyArgumentError("on_ranks: called by the gradient of a tensor on a GPU, whose autograd thread the ranks "
                                "need: keep the tensors outside of the ranks on the CPU")


def _close(*given: Any) -> None:
    """Called for each rank when the comm ends; the rank is the last argument, or None if it has created nothing."""
    if given[-1] is not None:
        given[-1].close()


def _device_of(handle: ctypes.c_void_p, number: int) -> torch.device:
    """The torch device of a rank that is a thread."""
    if lib.sley_comm_device(handle) == b"cpu":
        return torch.device("cpu")
    return torch.device("cuda", number % torch.cuda.device_count())


def rank_of(comm: Any) -> Rank:
    """The rank of a comm that belongs to this process or thread."""
    if isinstance(comm, Rank):
        return comm
    made: Rank | None = getattr(comm, "_torch_rank", None)
    if made is None:
        handle = getattr(comm, "_handle", None)
        if handle is None:
            raise SleyArgumentError(f"{comm!r} is no rank: pass the comm of sley.dist.init, or a rank of on_ranks")
        on_cpu = lib.sley_comm_device(handle) == b"cpu"
        device = torch.device("cpu") if on_cpu else torch.device("cuda", torch.cuda.current_device())
        made = comm._torch_rank = Rank(handle, device)
        comm._holdings.add(_close, [made], None)
    return made


class DistGraph(Operand):
    """This rank's rows of a graph, for operators and layers. x and results also contain the rank's own rows.

    Every rank calls operators, their gradients and `close` in the same order. Values of edges belong to the rank's own
    rows, in the order of `edge_index`. Plans exist until `close`, or until the comm ends.

    Attributes
    ----------
    row_begin : ndarray of int64, shape (ranks + 1,)
        Rank r owns rows row_begin[r] to row_begin[r + 1] - 1 of A and Y.
    col_begin : ndarray of int64, shape (ranks + 1,)
        The same for rows of X; equal to `row_begin` if A is square.
    num_nodes : int
        Rows of this rank.
    edge_index : Tensor, shape (2, edges)
        Edges of this rank's rows: columns in row 0 and rows in row 1, numbered over the whole graph.
    halo_rows : int
        Number of rows of x that this rank needs from others.
    """

    def __init__(self, rank: Rank, block: Block, values: torch.Tensor, *, plain: bool, algo: str | None = None,
                 norm: str | None = None, base: "DistGraph | None" = None) -> None:
        super().__init__(Pattern(rank, block), values, algo)
        self._plain = plain  # whether all values on all ranks are 1
        self.row_begin, self.col_begin = block.row_begin, block.col_begin
        self.shape = self.cols, self.rows
        self.norm, self._base = norm, base  # base: the graph from which this one is derived
        self._derived: dict[tuple[Any, ...], DistGraph] = {}

    @classmethod
    def load(cls, file: str | os.PathLike[str], comm: Any, *, norm: str | None = None, values: bool = True,
             partition: str = "nnz", algo: str | None = None, format: str | None = None,
             base: int | None = None) -> "DistGraph":
        """Reads a graph; each rank reads its own rows. Collective.

        Parameters
        ----------
        file : path or str
            A, as an argument of `sley.read` or `sley.generate`, with an entry in row i and column j for an edge from j
            to i.
        comm : sley.dist.Comm, or a rank of `on_ranks`
        norm : "gcn", "mean" or None
            As in `Graph`.
        values : bool
            True: the edges have the values of the file; False: all values are 1.
        partition : "nnz" or "rows"
            Partition of the rows: about equal numbers of entries, or equal numbers of rows.
        algo : str, optional
            Algorithm of products without weights: one of `sley.algorithms`; by default the algorithm predicted fastest.
        format, base : optional
            As in `sley.read`.
        """
        rank = rank_of(comm)
        options = initial(_c.sley_read_options, dtype=int(_c.sley_dtype.SLEY_F64), **reading(format, base))
        row_begin, whole = np.zeros(rank.size + 1, np.int64), _c.sley_matrix_info()
        matrix = create(lib.sley_matrix_destroy, lib.sley_matrix_read_rows, rank.comm, encoded(file),
                        ctypes.byref(options), encoded(partition), row_begin.ctypes.data, ctypes.byref(whole))
        try:
            rowptr, col, given = _arrays_of(matrix)
        finally:
            lib.sley_matrix_destroy(matrix)
        col_begin = row_begin
        if whole.rows != whole.cols:
            col_begin = np.zeros(rank.size + 1, np.int64)
            check(lib.sley_partition_equal(whole.cols, rank.size, col_begin.ctypes.data))
        given = given if values else torch.ones_like(given)
        plain = torch.tensor([int((given == 1).all())])  # all ranks must make the same plans, so they agree
        check(lib.sley_comm_allreduce(rank.comm, int(_c.sley_reduce.SLEY_MIN), plain.data_ptr(), 1))
        graph = cls(rank, Block(rowptr, col, row_begin, col_begin), given, plain=bool(plain), algo=algo)
        if norm is None:
            return graph
        require(norm in ("gcn", "mean"), f"norm is {norm!r}: take 'gcn', 'mean' or None")
        return graph._derived_graph("gcn" if norm == "gcn" else "mean of values", improved=False, loops=True)

    @property
    def num_nodes(self) -> int:
        """Rows of this rank."""
        return self.rows

    @property
    def edge_index(self) -> torch.Tensor:  # type: ignore[override]
        """Shape (2, edges)."""
        row, col = self._entries()
        return torch.stack((col, row + int(self.row_begin[self._rank.rank]))).to(self.device)

    @property
    def halo_rows(self) -> int:
        """Number of rows of x that this rank needs from others. Collective if no operator has been called before."""
        info = value_of(_c.sley_graph_info, lib.sley_graph_info_get, self.pattern.graph)
        return int(info.halo_rows)

    def _entries(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The row of each entry, counted from the rank's first row, and its column in the whole graph."""
        block = self.pattern.block
        degree = block.rowptr.diff()
        return torch.arange(self.rows).repeat_interleave(degree), block.col.to(torch.int64)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _derived_graph(self, kind: str, improved: bool, loops: bool) -> "DistGraph":
        """As `derived`, and also "mean of values", the variant for norm="mean". Collective."""
        if kind == self.norm == "gcn":
            return self
        base = self if self._base is None else self._base
        if kind == "plain" and base._plain:
            return base
        key = kind, loops
        made = base._derived.get(key)
        if made is None:
            with aside():
                made = base._derived[key] = base._derive(kind, loops)
        return made

    def _derive(self, kind: str, loops: bool) -> "DistGraph":
        row, col = self._entries()
        weighted = kind in ("gcn", "mean of values")
        values = self._values if weighted else torch.ones(self.num_edges, dtype=torch.float64)
        if kind == "loops" or kind == "gcn" and loops:
            row, col, values = self._with_loops(row, col, values)
        if kind in ("mean", "mean of values"):
            values = values / torch.bincount(row, minlength=self.rows)[row]
        if kind == "gcn":
            scale = torch.zeros(self.rows, dtype=torch.float64).index_add(0, row, values).pow(-0.5)
            scale = scale.masked_fill(torch.isinf(scale), 0.0)
            values = scale[row] * values * self._of_columns(scale, col)
        rowptr = torch.zeros(self.rows + 1, dtype=torch.int64)
        rowptr[1:] = torch.bincount(row, minlength=self.rows).cumsum(0)
        block = Block(rowptr, col.to(self.pattern.block.col.dtype), self.row_begin, self.col_begin)
        return DistGraph(self._rank, block, values, plain=kind in ("loops", "plain"), algo=self._algo,
                         norm=None if kind in ("loops", "plain") else kind.split()[0], base=self)

    def _with_loops(self, row: torch.Tensor, col: torch.Tensor,
                    values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Entries with exactly one on the diagonal of each row. Its value is that of the last given diagonal entry, or
        1."""
        require(np.array_equal(self.row_begin, self.col_begin), "self loops need one set of nodes: A is not square")
        first = int(self.row_begin[self._rank.rank])
        own = torch.arange(self.rows)
        is_loop = col == row + first
        of_loops = torch.ones(self.rows, dtype=values.dtype).index_put((row[is_loop],), values[is_loop])
        row = torch.cat((row[~is_loop], own))
        col, values = torch.cat((col[~is_loop], own + first)), torch.cat((values[~is_loop], of_loops))
        order = torch.argsort(row * int(self.col_begin[-1]) + col, stable=True)
        return row[order], col[order], values[order]

    def _of_columns(self, own: torch.Tensor, col: torch.Tensor) -> torch.Tensor:
        """The value of each listed column. Each rank has the values of its own rows. In host memory."""
        wanted, place = torch.unique(col, return_inverse=True)
        rank = self._rank
        halo = rank.make(lib.sley_halo_destroy, lib.sley_halo_create, rank.comm, wanted.data_ptr(), len(wanted),
                         self.col_begin.ctypes.data, 1, code_of(own.dtype))
        mine, found = own.to(rank.device), torch.empty(len(wanted), dtype=own.dtype, device=rank.device)
        with rank:
            check(lib.sley_halo_gather(halo, mine.data_ptr(), 1, found.data_ptr(), 1))
        made = found.cpu()[place]
        halo.close()
        return made

    def close(self) -> None:
        """Destroys the plans and operations of all graphs of the comm on all ranks, including graphs that layers have
        derived. Collective."""
        self._rank.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        rank, rows = self._rank, int(self.row_begin[-1])
        return (f"<sley.torch.DistGraph rank {rank.rank} of {rank.size}, {self.rows} of {rows} rows, "
                f"{self.num_edges} edges, {self.device}>")


def _arrays_of(matrix: ctypes.c_void_p) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Copies of the row pointers, columns and values of a float64 matrix."""
    csr = value_of(_c.sley_csr, lib.sley_matrix_csr, matrix)
    nnz = value_of(_c.sley_matrix_info, lib.sley_matrix_info_get, matrix).nnz
    rowptr = np.array(array_at(matrix, csr.rowptr, np.dtype(np.int64), csr.rows + 1))
    index = np.dtype(np.int32 if csr.index == _c.sley_index.SLEY_I32 else np.int64)
    first = int(rowptr[0])
    col = np.array(array_at(matrix, (csr.col or 0) + first * index.itemsize, index, nnz))
    values = np.array(array_at(matrix, (csr.val or 0) + first * 8, np.dtype(np.float64), nnz))
    return torch.from_numpy(rowptr - first), torch.from_numpy(col), torch.from_numpy(values)


def allreduce_grads(parameters: torch.nn.Module | Iterable[torch.Tensor], comm: Any, *, mean: bool = False) -> None:
    """Sums the gradients of parameters over the ranks, in the order of the ranks, so that all ranks get the same bits.
    All ranks must have the same parameters. Call it between backward and the optimizer's step. Collective.

    Parameters
    ----------
    parameters : Module, or tensors
        Parameters that require a gradient; a missing `grad` counts as zeros and is created.
    comm : sley.dist.Comm, or a rank of `on_ranks`
    mean : bool
        Divides the sums by the number of ranks.
    """
    rank = rank_of(comm)
    given = parameters.parameters() if isinstance(parameters, torch.nn.Module) else parameters
    by_type: dict[torch.dtype, list[torch.Tensor]] = {}
    for each in given:
        if each.requires_grad:
            if each.grad is not None:
                numbers_of("a gradient of allreduce_grads", each.grad)
                require(each.grad.layout == torch.strided, f"a gradient of allreduce_grads is of layout "
                        f"{each.grad.layout}: make it dense, as by sparse=False of an embedding")
            each.grad = torch.zeros_like(each) if each.grad is None else each.grad
            by_type.setdefault(each.dtype, []).append(each.grad)
    for gradients in by_type.values():
        flat = torch.cat([each.reshape(-1) for each in gradients])
        require(flat.device == rank.device, f"gradients are on {flat.device}, and the rank works on {rank.device}")
        allreduce(rank, flat)
        parts = torch.split(flat / rank.size if mean else flat, [each.numel() for each in gradients])
        torch._foreach_copy_(gradients, [part.view_as(each) for part, each in zip(parts, gradients, strict=True)])


def allreduce(rank: Rank, flat: torch.Tensor) -> None:
    """Sums a contiguous tensor over the ranks in place, with a collective that is prepared once per size.
    Collective."""
    key = flat.numel(), flat.dtype
    made: Handle | None = rank.collectives.get(key)
    if made is None:
        options = initial(_c.sley_collective_options, kind=int(_c.sley_collective_kind.SLEY_ALLREDUCE),
                          op=int(_c.sley_reduce.SLEY_SUM), type=code_of(flat.dtype), count=flat.numel())
        made = rank.collectives[key] = rank.make(lib.sley_collective_destroy, lib.sley_collective_create, rank.comm,
                                                 ctypes.byref(options))
    with rank:
        check(lib.sley_collective_run(made, flat.data_ptr(), flat.data_ptr()))
