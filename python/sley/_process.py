# SPDX-License-Identifier: Apache-2.0
"""What belongs to one process and one object: locks that a forked child does not take, and handles that are not
copied."""
import os
import threading
from typing import Any, NoReturn

from sley.errors import SleyArgumentError

_forks = 0  # how many forks lie between this process and the one in which Sley was imported


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class ProcessLock:
    """A lock for several calls of one thread, of the process that has made it.

    In a forked child it is never waited for: the thread that holds it may not be there.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._forks, self._pid = _forks, os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is the process that has made the lock, not a forked child."""
        return self._forks == _forks

    def __enter__(self) -> None:
        if not self.here:
            raise SleyArgumentError(f"the ranks belong to process {self._pid}, and this is a child that it has forked: "
                                    "make a comm or a plan here")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class NotCopied:
    """A class whose objects own what the library has made: they are neither copied nor pickled."""

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        kind = type(self)
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} is neither copied nor pickled: it owns memory or "
                        "ranks of the library; share this one, or make another")
