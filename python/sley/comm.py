# SPDX-License-Identifier: Apache-2.0
"""Ranks."""
import atexit
import ctypes
import itertools
import os
import queue
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from sley import _c
from sley._calls import call
from sley._kinds import kinds
from sley._later import Later, Work
from sley._library import decoded, encoded, initial, lib
from sley._process import Closable, NotCopied, ProcessLock
from sley._ranks import CallersThread, Job, RankThreads, Runner, join_all
from sley.errors import SleyArgumentError, SleyPeerError

Destroy = Callable[[ctypes.c_void_p, ctypes.c_void_p], Any]  # arguments: a comm and a handle


class _Holdings(NotCopied):
    """The handles that the library has created for a comm's ranks. All ranks destroy them together, in the same
    order."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._held: dict[int, tuple[Destroy, list[ctypes.c_void_p], object]] = {}
        self._unused: queue.SimpleQueue[int] = queue.SimpleQueue()

    def add(self, destroy: Destroy, handles: list[ctypes.c_void_p], kept: object) -> int:
        """Adds one handle per rank, and an object that must exist as long; returns their number."""
        number = next(self._numbers)
        self._held[number] = destroy, handles, kept
        return number

    def forget(self, number: int) -> None:
        """Notes that a number is no longer used. Finalizers call this in any thread, so nothing is destroyed here."""
        self._unused.put(number)

    def forgotten(self) -> list[int]:
        """The numbers that were passed to `forget` since the last call."""
        numbers = []
        while not self._unused.empty():
            numbers.append(self._unused.get())
        return numbers

    def removal(self, numbers: Iterable[int] | None = None) -> Job | None:
        """A job that destroys the handles with these numbers, or all handles, the newest first; None if there are
        none."""
        chosen = sorted(self._held if numbers is None else set(numbers) & self._held.keys(), reverse=True)
        gone = [self._held.pop(number) for number in chosen]
        if not gone:
            return None

        def destroy_all(i: int, comm: ctypes.c_void_p) -> int:
            for destroy, handles, _kept in gone:
                destroy(comm, handles[i])
            return int(_c.sley_status.SLEY_OK)

        return destroy_all


def _nothing(_rank: int, _comm: ctypes.c_void_p) -> int:
    return int(_c.sley_status.SLEY_OK)


_open: "weakref.WeakSet[Comm]" = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for comm in list(_open):
        comm._end()
    join_all()


def _leave(runner: Runner, holdings: _Holdings, lock: ProcessLock) -> None:
    if lock.here:  # a forked child has no ranks and nothing to end
        runner.leave(holdings.removal() or _nothing)


class Comm(Closable):
    """Ranks among which rows are divided: threads of this process.

    Several Python threads may use a comm: their calls run one after the other. Calls on different comms run at the same
    time. Plans are destroyed with their comm. In a forked child, using a comm of the parent, or an object made with it,
    raises SleyArgumentError; closing it does nothing.

    Parameters
    ----------
    ranks : int
        Number of ranks, at least 1. A single rank runs in the caller's thread.
    workgroup : int
        Ranks joined by direct links; between workgroups only messages travel. 0: all.
    threads : int
        Threads of each rank; 0: cores / ranks, at least 1.
    device : str
        "cpu"; "cuda": rank r uses GPU r modulo the number of GPUs; "auto": "cuda" if there is a GPU.
    trace : path, optional
        Path of a file to which a timeline for Perfetto is written when the comm is closed.

    Examples
    --------
    >>> with sley.Comm(4) as comm:
    ...     plan = sley.Plan(a, 32, comm=comm)
    ...     y = plan(x)
    """

    @kinds
    def __init__(self, ranks: int = 1, *, workgroup: int = 0, threads: int = 0, device: str = "cpu",
                 trace: str | os.PathLike[str] | None = None) -> None:
        if not 1 <= ranks < 2**31 or not 0 <= workgroup < 2**31 or not 0 <= threads < 2**31:
            raise SleyArgumentError(f"{ranks} ranks in workgroups of {workgroup} with {threads} threads each: "
                                    "there is at least 1 rank, and nothing is negative")
        options = {"workgroup": workgroup, "threads": threads, "transport": b"threads", "device": encoded(device),
                   "trace": encoded(trace)}
        runner: Runner
        if ranks == 1 and not _launched():
            runner = CallersThread(initial(_c.sley_comm_options, **options))
        else:
            runner = RankThreads(initial(_c.sley_rank_options, ranks=ranks, **options))
        self._begin(runner, ranks, 0, ranks)
        if device != "cpu":
            self._run(self._ask_device)

    def _begin(self, runner: Runner, size: int, first: int, here: int, device: str = "cpu") -> None:
        self._size, self._first, self._here = size, first, here
        self._runner = runner
        self._holdings = _Holdings()
        self._lock = ProcessLock()
        self._end = self._finalizer()
        self._device = device
        self._later: Later | None = None
        _open.add(self)

    def _finalizer(self) -> "weakref.finalize[Any, Any]":
        """Finalizer that ends the ranks if the comm is garbage-collected."""
        return weakref.finalize(self, _leave, self._runner, self._holdings, self._lock)

    def _ask_device(self, i: int, comm: ctypes.c_void_p) -> int:
        if i == 0:
            self._device = decoded(lib.sley_comm_device(comm))
        return int(_c.sley_status.SLEY_OK)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._size

    @property
    def first(self) -> int:
        """The first rank of this process: 0 if ranks are threads."""
        return self._first

    @property
    def here(self) -> int:
        """Number of ranks in this process: all ranks if they are threads, otherwise 1."""
        return self._here

    @property
    def device(self) -> str:
        """Device of the ranks: "cpu" or "cuda"."""
        return self._device

    @property
    def closed(self) -> bool:
        """Whether the comm is closed."""
        return not self._end.alive

    def close(self) -> None:
        """Destroys the comm's plans and ends its ranks. Later calls do nothing, nor does a call in a forked child."""
        if not self._lock.here:
            self._end.detach()
            return
        self._settle()
        with self._lock:
            if self._end.detach() is None:
                return
            try:
                self._runner.run(self._holdings.removal() or _nothing)
            finally:
                self._runner.end()

    def _settle(self) -> None:
        """Waits for the jobs of `_run_later`. Not called with the lock, which they need."""
        if self._later is not None and self._lock.here:
            self._later.settle()

    def _run(self, job: Job) -> None:
        """Destroys unused handles, then runs a job on all ranks, after the jobs of `_run_later`."""
        self._settle()
        self._run_now(job)

    def _run_later(self, job: Job, result: Any) -> Work:
        """Runs a job on all ranks in another thread, after earlier ones; `wait` of the work returns result."""
        with self._lock:
            if self._later is None:
                self._later = Later()
                weakref.finalize(self, self._later.end)
            return self._later.put(lambda: self._run_now(job), result)

    def _run_now(self, job: Job) -> None:
        with self._lock:
            if self.closed:
                raise SleyArgumentError("the comm is closed")
            if self._runner.failed:
                raise SleyPeerError("the comm was interrupted, which ends it: make another")
            unused = self._holdings.removal(self._unused())
            if unused is not None:
                self._runner.run(unused)
            self._runner.run(job)

    def _unused(self) -> list[int]:
        """The numbers of the handles that are destroyed before the next job."""
        return self._holdings.forgotten()

    def _make(self, destroy: Destroy, make: Callable[[int, ctypes.c_void_p, ctypes.c_void_p], int],
              kept: object) -> tuple[int, list[ctypes.c_void_p]]:
        """Creates a handle on each rank of this process with make(i, comm, out); returns their number among the
        holdings, and the handles."""
        handles = [ctypes.c_void_p() for _ in range(self.here)]
        self._settle()
        with self._lock:
            try:
                self._run_now(lambda i, comm: make(i, comm, handles[i]))
            except BaseException:
                if any(handles):
                    self._holdings.forget(self._holdings.add(destroy, handles, kept))
                raise
            return self._holdings.add(destroy, handles, kept), handles

    def _remove(self, number: int) -> None:
        """Destroys the handles with this number now; does nothing in a forked child."""
        if not self._lock.here:
            return
        self._settle()
        with self._lock:
            removal = None if self.closed else self._holdings.removal([number])
            if removal is not None:
                self._runner.run(removal)

    def __repr__(self) -> str:
        return f"<sley.Comm of {self._size} rank{'s' if self._size > 1 else ''}{', closed' if self.closed else ''}>"


def _launched() -> bool:
    """Whether a launcher such as torchrun has started this process as one rank of several."""
    name, rank, ranks = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_int()
    call(lib.sley_launcher, ctypes.byref(name), ctypes.byref(rank), ctypes.byref(ranks))
    return name.value is not None
