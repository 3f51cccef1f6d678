# SPDX-License-Identifier: Apache-2.0
"""Ranks that are processes: started by torchrun, mpirun or srun, or in an MPI communicator or a group of
`torch.distributed`.

Every process makes the same calls in the same order; collective calls are marked as such. Operands are the rank's own
rows, given by `Plan.rows` and `Plan.cols`.

>>> import sley.dist                                 # torchrun --nproc-per-node 4 program.py
>>> comm = sley.dist.init()
>>> a = sley.dist.read(comm, "graph.mtx")            # each rank reads its own rows
>>> with sley.Plan(a, 32, comm=comm) as plan:
...     y = plan(x)                                  # of x's rows plan.cols, y's rows plan.rows
>>> sley.dist.shutdown()

Finalizers and the exit of Python do nothing collective: `shutdown` ends plans and ranks, and a program that does not
call it exits without it.
"""
import ctypes
import os
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from sley import _c
from sley._arrays import Indices, code_of
from sley._collective import Collective, CollectiveInfo, one_of, ops
from sley._division import Rows
from sley._later import Work
from sley._library import decoded, encoded, initial, lib
from sley._meet import of_torch_group, variables
from sley._ranks import CallersThread
from sley._topk import TopK, TopKInfo
from sley.comm import Comm as _Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix, as_matrix, reading, stored_code

__all__ = ["Collective", "CollectiveInfo", "Comm", "Rows", "TopK", "TopKInfo", "Work", "init", "read", "rows",
           "shutdown"]

_open: "list[Comm]" = []


class Comm(_Comm):
    """One of several ranks that are processes, made by `init`. It is used like a `sley.Comm`.

    It exists until `shutdown`, even if the program drops all references.
    """

    def __init__(self, options: _c.sley_comm_options) -> None:
        runner = CallersThread(options)
        self._handle = runner.handle
        self._begin(runner, lib.sley_comm_size(self._handle), lib.sley_comm_rank(self._handle), 1,
                    decoded(lib.sley_comm_device(self._handle)))
        _open.append(self)

    def _finalizer(self) -> "weakref.finalize[Any, Any]":
        return weakref.finalize(self, int)  # does nothing: collective work is done by shutdown

    def _unused(self) -> list[int]:
        return []  # garbage collection differs between ranks, so shutdown destroys all handles

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self.first

    @property
    def transport(self) -> str:
        """Transport of the rows: "tcp", "mpi", "nccl", ..."""
        return decoded(lib.sley_comm_transport(self._handle)) if not self.closed else ""

    @property
    def note(self) -> str:
        """The reason why another transport is used, or why "auto" chose no GPU; otherwise ""."""
        return decoded(lib.sley_comm_device_note(self._handle)) if not self.closed else ""

    def barrier(self) -> None:
        """Returns when all ranks have called it. Collective."""
        self._run(lambda _, comm: lib.sley_comm_barrier(comm))

    def allreduce(self, values: npt.ArrayLike, op: str = "sum") -> Indices:
        """Sums, minima or maxima of whole numbers over all ranks. Collective.

        Parameters
        ----------
        values : array_like of integers
            As many on every rank.
        op : str
            "sum", "min" or "max".

        Returns
        -------
        ndarray of int64
            The result, in the shape of values.
        """
        number, made = one_of(ops(), op, "reduction"), np.array(values, np.int64, order="C")
        self._run(lambda _, comm: lib.sley_comm_allreduce(comm, number, made.ctypes.data, made.size))
        return made

    def shutdown(self) -> None:
        """Destroys all plans of this comm, the newest first, and ends the comm. Later calls do nothing. Collective."""
        if self in _open:
            _open.remove(self)
        super().close()

    close = shutdown

    def __repr__(self) -> str:
        return (f"<sley.dist.Comm, rank {self.rank} of {self.size}, {self.device}, "
                f"{'closed' if self.closed else self.transport}>")


def init(group: Any = None, *, transport: str | None = None, device: str = "cpu", workgroup: int = 0, threads: int = 0,
         trace: str | os.PathLike[str] | None = None, timeout: float = 0.0) -> Comm:
    """Turns this process into a rank. Collective over all processes of the group.

    Parameters
    ----------
    group : optional
        None: the ranks that a launcher has started (torchrun, mpirun, srun, or any other that sets RANK, WORLD_SIZE,
        MASTER_ADDR and MASTER_PORT), or a single rank without a launcher. A communicator of mpi4py: its ranks. A
        process group of `torch.distributed`, such as `torch.distributed.group.WORLD`: its ranks, which use the group to
        agree on a port and a secret. The group's backend must be able to send Python objects (gloo, or nccl with a
        device set).
    transport : str, optional
        "tcp", "mpi", "nccl" or "nvshmem"; by default "nccl" on GPUs, "mpi" for ranks of MPI, otherwise "tcp".
    device : str
        "cpu", "cuda" (ranks of a host take its GPUs in turn) or "auto".
    workgroup : int
        Number of ranks joined by direct links; 0: the ranks of a host.
    threads : int
        Threads of each rank; 0: cores / ranks of this host.
    trace : path, optional
        Path of a file to which rank 0 writes a timeline for Perfetto when the comm is shut down.
    timeout : float
        Time limit in seconds to meet, and after which a stopped or disconnected rank counts as failed; 0: SLEY_TIMEOUT,
        else 60.

    Returns
    -------
    Comm

    Raises
    ------
    SleyPeerError
        A rank did not connect in time, or has failed.
    SleyArgumentError
        A launcher's variable is missing or wrong; the message names it.
    """
    library = type(group).__module__.split(".")[0]
    options: dict[str, Any] = {}
    meeting: dict[str, str] = {}
    kept = None  # the object that is read while the comm is opened
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
    """Shuts down all comms that `init` has made, the newest first. Collective. Does nothing if there are none."""
    while _open:
        _open[-1].shutdown()


def read(comm: Comm, path: str | os.PathLike[str], *, dtype: npt.DTypeLike | None = None, by: str = "nnz",
         format: str | None = None, base: int | None = None) -> Rows:
    """Reads a file, or runs a generator, on all ranks together; each rank gets its own rows. Collective.

    Parameters
    ----------
    comm : Comm
    path : path
        As in `sley.read`; or a generator, as in `sley.generate`. Every rank opens the same file.
    dtype : dtype, optional
        Type of the values; by default the type that the file stores, and float64 for texts.
    by : str
        "nnz" (about equal numbers of nonzeros per rank) or "rows" (equal numbers of rows).
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
    """A matrix of which each rank passes its own rows, in the order of the ranks. Collective.

    Parameters
    ----------
    comm : Comm
    own : Matrix, or what `Matrix` takes
        The rank's rows, of shape (own rows, n), with the same type on all ranks; columns are numbered over the whole
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
