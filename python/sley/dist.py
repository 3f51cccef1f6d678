# SPDX-License-Identifier: Apache-2.0
"""Ranks that are processes: those that torchrun, mpirun or srun has started, of an MPI communicator, or of a group of
`torch.distributed`.

Every process makes the same calls in the same order; what is collective says so. Operands are the rank's own rows, as
`Plan.rows` and `Plan.cols` tell.

>>> import sley.dist                                 # torchrun --nproc-per-node 4 program.py
>>> comm = sley.dist.init()
>>> a = sley.dist.read(comm, "graph.mtx")            # each rank reads its own rows
>>> with sley.Plan(a, 32, comm=comm) as plan:
...     y = plan(x)                                  # of x's rows plan.cols, y's rows plan.rows
>>> sley.dist.shutdown()

Nothing collective is done by a finalizer or when Python ends: `shutdown` ends plans and ranks, and a program that does
not call it just ends.
"""
import ctypes
import os
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from sley import _c
from sley._arrays import Indices, code_of
from sley._collective import OPS, Collective, CollectiveInfo
from sley._division import Rows
from sley._library import decoded, encoded, initial, lib
from sley._meet import of_torch_group, variables
from sley._ranks import CallersThread
from sley.comm import Comm as _Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix, as_matrix, reading, stored_code

__all__ = ["Collective", "CollectiveInfo", "Comm", "Rows", "init", "read", "rows", "shutdown"]

_open: "list[Comm]" = []


class Comm(_Comm):
    """One rank of several that are processes, as `init` makes it. Takes the place of a `sley.Comm`.

    It lives until `shutdown`, also if it is forgotten.
    """

    def __init__(self, options: _c.sley_comm_options) -> None:
        runner = CallersThread(options)
        self._handle = runner.handle
        self._begin(runner, lib.sley_comm_size(self._handle), lib.sley_comm_rank(self._handle), 1,
                    decoded(lib.sley_comm_device(self._handle)))
        _open.append(self)

    def _finalizer(self) -> "weakref.finalize[Any, Any]":
        return weakref.finalize(self, int)  # nothing: what other ranks wait for is done by shutdown

    def _unused(self) -> list[int]:
        return []  # Python forgets at different times on different ranks: shutdown destroys

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self.first

    @property
    def transport(self) -> str:
        """How rows travel: "tcp", "mpi", "nccl", ..."""
        return decoded(lib.sley_comm_transport(self._handle)) if not self.closed else ""

    @property
    def note(self) -> str:
        """Why another transport runs, or "auto" took no GPU; "" otherwise."""
        return decoded(lib.sley_comm_device_note(self._handle)) if not self.closed else ""

    def barrier(self) -> None:
        """Returns when every rank has called it. Collective."""
        self._run(lambda _, comm: lib.sley_comm_barrier(comm))

    def allreduce(self, values: npt.ArrayLike, op: str = "sum") -> Indices:
        """The sums, minima or maxima of all ranks' whole numbers. Collective.

        Parameters
        ----------
        values : array_like of integers
            The same number on every rank.
        op : str
            "sum", "min" or "max".

        Returns
        -------
        ndarray of int64
            Of the shape of values.
        """
        if op not in OPS:
            raise SleyArgumentError(f"there is no reduction {op!r}: take one of {', '.join(OPS)}")
        made = np.array(values, np.int64, order="C")
        self._run(lambda _, comm: lib.sley_comm_allreduce(comm, int(OPS[op]), made.ctypes.data, made.size))
        return made

    def shutdown(self) -> None:
        """Destroys all plans of this comm, the last made first, and ends it. Later calls do nothing. Collective."""
        if self in _open:
            _open.remove(self)
        super().close()

    close = shutdown

    def __repr__(self) -> str:
        return (f"<sley.dist.Comm, rank {self.rank} of {self.size}, {self.device}, "
                f"{'closed' if self.closed else self.transport}>")


def init(group: Any = None, *, transport: str | None = None, device: str = "cpu", workgroup: int = 0, threads: int = 0,
         trace: str | os.PathLike[str] | None = None, timeout: float = 0.0) -> Comm:
    """Makes this process a rank. Collective over all processes of the group.

    Parameters
    ----------
    group : optional
        None: the ranks that a launcher has started (torchrun, mpirun, srun, or whatever sets RANK, WORLD_SIZE,
        MASTER_ADDR and MASTER_PORT), or one rank where none has. A communicator of mpi4py: its ranks. A process group
        of `torch.distributed`, such as `torch.distributed.group.WORLD`: its ranks, which agree on a port and a secret
        through it; its backend moves Python objects (gloo, or nccl with a device set).
    transport : str, optional
        "tcp", "mpi", "nccl" or "nvshmem"; by default "nccl" on GPUs, "mpi" of an MPI's ranks, else "tcp".
    device : str
        "cpu", "cuda" (a GPU for each rank of a host, in turn) or "auto".
    workgroup : int
        Ranks joined by direct links; 0: those of a host.
    threads : int
        Of each rank; 0: cores / ranks of this host.
    trace : path, optional
        A file that receives a timeline for Perfetto when the comm is shut down; rank 0 writes it.
    timeout : float
        Seconds to meet, and until a rank that is stopped or cut off counts as failed; 0: SLEY_TIMEOUT, else 60.

    Returns
    -------
    Comm

    Raises
    ------
    SleyPeerError
        A rank did not come in time, or has failed.
    SleyArgumentError
        A launcher's variable is missing or wrong: it is named.
    """
    library = type(group).__module__.split(".")[0]
    options: dict[str, Any] = {}
    meeting: dict[str, str] = {}
    kept = None  # what is read while the comm is opened
    if library == "mpi4py":
        from mpi4py import MPI  # type: ignore[import-not-found]
        kept = ctypes.c_void_p(MPI._addressof(group))
        options["mpi_comm"] = kept
    elif library == "torch":
        meeting = of_torch_group(group)
    elif group is not None:
        raise SleyArgumentError(f"group is of {library}: expected a communicator of mpi4py or a process group of "
                                "torch.distributed")
    with variables(meeting):
        return Comm(initial(_c.sley_comm_options, transport=encoded(transport), device=encoded(device),
                            workgroup=workgroup, threads=threads, trace=encoded(trace), timeout=timeout, **options))


def shutdown() -> None:
    """Shuts down what `init` has made, the last first. Collective. Without any it does nothing."""
    while _open:
        _open[-1].shutdown()


def read(comm: Comm, path: str | os.PathLike[str], *, dtype: npt.DTypeLike | None = None, by: str = "nnz",
         format: str | None = None, base: int | None = None) -> Rows:
    """Reads a file, or runs a generator, by all ranks together, each its own rows. Collective.

    Parameters
    ----------
    comm : Comm
    path : path
        As in `sley.read`; or a generator, as in `sley.generate`. Every rank opens the same file.
    dtype : dtype, optional
        Of the values; by default the one in which the file stores them, and float64 for texts.
    by : str
        "nnz" (ranks get about equal numbers of nonzeros) or "rows".
    format, base : optional
        As in `sley.read`.

    Returns
    -------
    Rows
    """
    code = stored_code(path) if dtype is None else code_of(dtype)
    options = initial(_c.sley_read_options, dtype=code, **reading(format, base))
    begin = np.zeros(comm.size + 1, np.int64)
    out = ctypes.c_void_p()
    comm._run(lambda _, handle: lib.sley_matrix_read_rows(handle, encoded(path), ctypes.byref(options), encoded(by),
                                                          begin.ctypes.data, None, ctypes.byref(out)))
    return Rows(Matrix._of(out), begin)


def rows(comm: Comm, own: Any) -> Rows:
    """A matrix of which each rank has its own rows, in the order of the ranks. Collective.

    Parameters
    ----------
    comm : Comm
    own : Matrix, or what `Matrix` takes
        The rank's rows, of shape (own rows, n) and the same type on all ranks; columns are numbered over the whole
        matrix.

    Returns
    -------
    Rows
    """
    matrix = as_matrix(own, copy=True)
    counts = np.zeros(comm.size, np.int64)
    counts[comm.rank] = matrix.shape[0]
    begin = np.zeros(comm.size + 1, np.int64)
    np.cumsum(comm.allreduce(counts), out=begin[1:])
    return Rows(matrix, begin)
