# SPDX-License-Identifier: Apache-2.0
"""The threads that run the calls of a comm's ranks: the caller's thread for one rank, one thread per rank for several.

A job is a function that makes calls of the library and returns a status. Its arguments are the index of a rank among
the ranks of this process, and the rank's comm. All ranks run the same jobs in the same order, as collective calls
require.
"""
import ctypes
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from sley import _c
from sley._calls import call, create
from sley._library import lib
from sley._process import NotCopied
from sley.errors import SleyError, SleyPeerError, last_error

Job = Callable[[int, ctypes.c_void_p], int]
_JOIN_SECONDS = 2.0
_WAITS = 2  # waits for a reply: `run`, and `_interrupt` if a signal arrives just after `run` has received its reply


class Runner(Protocol):
    """Runs jobs on all ranks of a comm."""

    failed: bool  # a job was interrupted: the ranks can only be ended

    def run(self, job: Job) -> None:
        """Runs a job on every rank and waits; raises the error of the rank that failed first, by cause."""

    def leave(self, job: Job) -> None:
        """Runs a last job and ends the comm, from a finalizer: does not wait for other ranks and raises nothing."""

    def end(self) -> None:
        """Ends the comm after the last job, and waits for its end."""


class CallersThread(NotCopied):
    """A single rank, or the only rank of this process; its calls run in the caller's thread."""

    failed = False  # a rank that does not wait for others can be used after an interrupt

    def __init__(self, options: _c.sley_comm_options) -> None:
        self.handle = create(lib.sley_comm_close, lib.sley_comm_open, ctypes.byref(options))

    def run(self, job: Job) -> None:
        call(job, 0, self.handle)

    def leave(self, job: Job) -> None:
        job(0, self.handle)
        lib.sley_comm_close(self.handle)

    def end(self) -> None:
        call(lib.sley_comm_close, self.handle)


class _Task:
    """A running job: ranks report to `finished`, and rank 0 replies to `replies` when all ranks have reported."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.errors: dict[int, BaseException] = {}
        self.finished: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.reply: queue.SimpleQueue[None] = queue.SimpleQueue()

    def run(self, rank: int, comm: ctypes.c_void_p) -> None:
        try:
            status = self.job(rank, comm)
            if status:
                self.errors[rank] = last_error(status)
        except BaseException as error:  # a fault in a job: raised in the caller, never passed to C
            self.errors[rank] = error

    def failure(self) -> BaseException | None:
        """The error of the lowest rank; errors that only report another rank's failure come last."""
        causes = [rank for rank, error in self.errors.items() if not isinstance(error, SleyPeerError)]
        return self.errors[min(causes or self.errors)] if self.errors else None


class RankThreads(NotCopied):
    """Ranks as threads that sley_run_ranks starts, which wait for jobs.

    A job is put into one queue by a single call that a signal cannot interrupt; rank 0 passes it on to the other ranks.
    """

    def __init__(self, options: _c.sley_rank_options) -> None:
        self._options = options
        self._jobs: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._others: list[queue.SimpleQueue[_Task | None]] = [queue.SimpleQueue() for _ in range(options.ranks - 1)]
        self._started: queue.SimpleQueue[SleyError | None] = queue.SimpleQueue()
        self.failed = False
        self._thread = threading.Thread(target=self._serve, name="sley ranks", daemon=True)
        _running.add(self)
        self._thread.start()
        try:
            error = self._started.get()
        except BaseException:  # raised by a signal's handler: the ranks end as soon as they have started
            self._jobs.put(None)
            raise
        if error is not None:
            raise error

    def _serve(self) -> None:
        main = _c.sley_rank_fn(self._rank_main)
        status = lib.sley_run_ranks(ctypes.byref(self._options), main, None)
        self._started.put(last_error(status) if status else None)  # read if no rank has started

    def _rank_main(self, address: int, _argument: int | None) -> int:
        comm = ctypes.c_void_p(address)
        rank = lib.sley_comm_rank(comm)
        if rank == 0:
            self._lead(comm)
        else:
            self._follow(rank, comm)
        return int(_c.sley_status.SLEY_OK)

    def _lead(self, comm: ctypes.c_void_p) -> None:
        self._started.put(None)
        while self._lead_one(comm):
            pass

    def _lead_one(self, comm: ctypes.c_void_p) -> bool:
        """Runs the next job on rank 0; returns False if there is none.

        A task refers to objects of its caller, so no variable keeps a task while the rank waits.
        """
        task = self._jobs.get()
        for other in self._others:
            other.put(task)
        if task is None:
            return False
        task.run(0, comm)
        for _ in self._others:
            task.finished.get()
        for _ in range(_WAITS):
            task.reply.put(None)
        return True

    def _follow(self, rank: int, comm: ctypes.c_void_p) -> None:
        while self._follow_one(rank, comm):
            pass

    def _follow_one(self, rank: int, comm: ctypes.c_void_p) -> bool:
        """Runs the next job on another rank."""
        task = self._others[rank - 1].get()
        if task is None:
            return False
        task.run(rank, comm)
        task.finished.put(None)
        return True

    def run(self, job: Job) -> None:
        task = _Task(job)
        waits = False
        try:
            self._jobs.put(task)
            waits = True
            task.reply.get()
        except BaseException:  # KeyboardInterrupt, or an exception of another signal's handler
            self.failed = True
            if waits:
                self._interrupt(task)
            raise
        error = task.failure()
        if error is not None:
            raise error

    def _interrupt(self, task: _Task) -> None:
        """Interrupts a job and waits for its end, since the ranks use the caller's arrays."""
        lib.sley_interrupt()
        try:
            task.reply.get()
        finally:
            lib.sley_interrupt_clear()

    def leave(self, job: Job) -> None:
        self._jobs.put(_Task(job))
        self._jobs.put(None)

    def end(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def join(self) -> None:
        """Waits, with a time limit, until the ranks that `leave` has ended are gone."""
        self._thread.join(_JOIN_SECONDS)


_running: weakref.WeakSet[RankThreads] = weakref.WeakSet()  # a running thread keeps its own entry


def join_all() -> None:
    """Waits for the threads of all comms that `leave` has ended, so that none is in the library when Python exits."""
    for each in list(_running):
        each.join()
