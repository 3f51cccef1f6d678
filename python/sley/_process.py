# SPDX-License-Identifier: Apache-2.0
"""State of one process and one object: locks that a forked child does not acquire, and objects that are not copied."""
import os
import threading
from typing import Any, NoReturn, Self

from sley.errors import SleyArgumentError

_forks = 0  # number of forks between the process that imported Sley and this process


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class ProcessLock:
    """A reentrant lock that is used only in the process that created it.

    A forked child never waits for it: the thread that holds the lock may not exist there.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._forks, self._pid = _forks, os.getpid()

    @property
    def here(self) -> bool:
        """Whether this process created the lock, and is not a forked child."""
        return self._forks == _forks

    def __enter__(self) -> None:
        if not self.here:
            raise SleyArgumentError(f"the ranks belong to process {self._pid}, and this is a child that it has forked: "
                                    "make a comm or a plan here")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class NotCopied:
    """Base of classes whose objects own handles of the library: they can be neither copied nor pickled."""

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        kind = type(self)
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} is neither copied nor pickled: it owns memory or "
                        "ranks of the library; share this one, or make another")


class Closable(NotCopied):
    """Base of classes whose objects a `with` statement closes."""

    def close(self) -> None:
        """Releases what the object owns."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
