# SPDX-License-Identifier: Apache-2.0
"""Jobs of a comm that run while the caller goes on, one after the other, in a thread of the comm."""
import queue
import threading
from collections.abc import Callable
from typing import Any

from sley._process import NotCopied


class Work(NotCopied):
    """A call with `async_op=True` that may still run.

    Until `wait` has returned, its operands must not be changed, and its results not be read. Later calls on the same
    comm start when it has ended.
    """

    def __init__(self, result: Any) -> None:
        self._result, self._error = result, None
        self._ended = threading.Event()

    def _run(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            self._error = error
        self._ended.set()

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._ended.is_set()

    def wait(self, timeout: float | None = None) -> Any:
        """Waits for the end, and returns what the call without `async_op` returns.

        Parameters
        ----------
        timeout : float, optional
            Most seconds to wait; then TimeoutError is raised, and the call goes on.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the call has not ended after {timeout} s")
        if self._error is not None:
            raise self._error
        return self._result


class Later(NotCopied):
    """The thread, and the jobs that it has to run."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Work, Callable[[], None]] | None] = queue.SimpleQueue()
        self._last: Work | None = None
        self._thread = threading.Thread(target=_serve, args=(self._jobs,), name="sley later", daemon=True)
        self._thread.start()

    def put(self, job: Callable[[], None], result: Any) -> Work:
        """Starts a job after those before it. result: what its work returns."""
        work = self._last = Work(result)
        self._jobs.put((work, job))
        return work

    def settle(self) -> None:
        """Waits until all jobs have ended; does nothing in a job."""
        last = self._last
        if last is not None and threading.current_thread() is not self._thread:
            last._ended.wait()

    def end(self) -> None:
        """Ends the thread after its last job."""
        self._jobs.put(None)


def _serve(jobs: "queue.SimpleQueue[tuple[Work, Callable[[], None]] | None]") -> None:
    while _serve_one(jobs):
        pass


def _serve_one(jobs: "queue.SimpleQueue[tuple[Work, Callable[[], None]] | None]") -> bool:
    """Runs the next job; returns False if there is none. No variable keeps a job while the thread waits."""
    task = jobs.get()
    if task is None:
        return False
    task[0]._run(task[1])
    return True
