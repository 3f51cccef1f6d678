# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one per status of the library, with the library's message."""
from sley import _c
from sley._library import lib


class SleyError(Exception):
    """A call of the library has failed.

    Attributes
    ----------
    status : int
        The `sley_status`, for example 2 for a matrix that is not valid.
    rank : int or None
        The rank that the error is about; None if it is not about a rank.
    """

    status: int = _c.sley_status.SLEY_ERR_INTERNAL

    def __init__(self, message: str, rank: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.rank = rank

    def __str__(self) -> str:
        return self.message


class SleyArgumentError(SleyError, ValueError):
    """An argument is wrong."""

    status = _c.sley_status.SLEY_ERR_ARG


class SleyInputError(SleyError, ValueError):
    """A file or a matrix is not valid."""

    status = _c.sley_status.SLEY_ERR_INPUT


class SleyMemoryError(SleyError, MemoryError):
    """An allocation failed."""

    status = _c.sley_status.SLEY_ERR_MEMORY


class SleyIOError(SleyError, OSError):
    """The system refused to read or write."""

    status = _c.sley_status.SLEY_ERR_IO


class SleyUnsupportedError(SleyError, NotImplementedError):
    """A valid request that this build of the library does not support."""

    status = _c.sley_status.SLEY_ERR_UNSUPPORTED


class SleyPeerError(SleyError, RuntimeError):
    """Another rank failed."""

    status = _c.sley_status.SLEY_ERR_PEER


class SleyOverflowError(SleyError, OverflowError):
    """A size or a value does not fit its type."""

    status = _c.sley_status.SLEY_ERR_OVERFLOW


class SleyInterruptedError(SleyError):
    """The call was interrupted."""

    status = _c.sley_status.SLEY_ERR_INTERRUPTED


class SleyInternalError(SleyError, RuntimeError):
    """A fault in Sley: please report it."""

    status = _c.sley_status.SLEY_ERR_INTERNAL


_BY_STATUS: dict[int, type[SleyError]] = {
    each.status: each
    for each in (SleyArgumentError, SleyInputError, SleyMemoryError, SleyIOError, SleyUnsupportedError, SleyPeerError,
                 SleyOverflowError, SleyInterruptedError, SleyInternalError)
}


def last_error(status: int) -> SleyError:
    """The exception for the last call of this thread, which has returned `status`, not SLEY_OK."""
    rank = lib.sley_last_error_rank()
    kind = _BY_STATUS.get(status, SleyInternalError)
    return kind(lib.sley_last_error().decode(errors="replace"), None if rank < 0 else rank)
