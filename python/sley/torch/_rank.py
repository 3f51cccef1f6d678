# SPDX-License-Identifier: Apache-2.0
"""A rank on a torch device: its stream, and the handles that the library has created for it."""
import ctypes
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, Self

import torch

from sley import _c
from sley._arrays import CODES
from sley._calls import create
from sley._library import initial, lib
from sley._process import NotCopied
from sley.errors import SleyArgumentError, SleyUnsupportedError, last_error

DTYPES = {getattr(torch, name): int(code) for name, code in CODES.items()}
_LEGACY = 1  # cudaStreamLegacy, torch's default stream; for the library, NULL means a stream of its own
_set_stream = lib.sley_comm_set_stream


def code_of(dtype: torch.dtype) -> int:
    """The `sley_dtype` of a torch type."""
    code = DTYPES.get(dtype)
    if code is None:
        raise SleyUnsupportedError(f"there are no values of {dtype}: take one of {', '.join(map(str, DTYPES))}")
    return code


def check(status: int) -> None:
    """Raises the library's error of this thread if the status is not SLEY_OK."""
    if status:
        raise last_error(status)


class Rank(NotCopied):
    """One rank of a comm: its handle, and the torch device of its tensors.

    Calls of the library run within `with rank:`, by one thread at a time, on the current stream of that thread.

    Parameters
    ----------
    comm : c_void_p
        The `sley_comm`, which must outlive the rank.
    device : torch.device
        The device of the comm.
    forgets : bool
        True: handles are destroyed when they are no longer used, instead of by `close`. For a comm of one rank that is
        never closed.
    """

    def __init__(self, comm: ctypes.c_void_p, device: torch.device, *, forgets: bool = False) -> None:
        self.comm, self.forgets = comm, forgets
        self.device = device
        self.rank: int = lib.sley_comm_rank(comm)
        self.size: int = lib.sley_comm_size(comm)
        self.collectives: dict[Any, Handle] = {}
        self.held: list[Handle] = []  # handles for close, in the order of their creation
        self._lock = threading.RLock()
        self._unused: queue.SimpleQueue[tuple[Callable[..., Any], int]] = queue.SimpleQueue()
        self._cuda = device.type == "cuda"
        self._stream = 0  # the library's own stream until the first call
        self._depth = self._before = 0  # nesting depth of this thread's calls, and its previous current GPU

    def __enter__(self) -> Self:
        self._lock.acquire()
        if self._cuda:
            try:
                self._follow()
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._cuda:
            self._depth -= 1
            if not self._depth and self._before != self.device.index:
                torch.cuda.set_device(self._before)
        self._lock.release()

    def _follow(self) -> None:
        """Moves the rank's work to torch's current stream; the library makes the rank's GPU the current GPU."""
        if not self._depth:
            self._before = torch._C._cuda_getDevice()
        stream = torch._C._cuda_getCurrentRawStream(self.device.index) or _LEGACY
        if stream != self._stream:
            check(_set_stream(self.comm, stream))
            self._stream = stream
        self._depth += 1

    def make(self, destroy: Callable[..., Any], function: Callable[..., Any], *arguments: Any,
             kept: object = None) -> "Handle":
        """Creates a handle with a function of the library; `kept` is kept alive as long as the handle."""
        with self:
            self._destroy_unused()
            return Handle(self, destroy, create(destroy, function, *arguments), kept)

    def close(self) -> None:
        """Destroys all handles, the newest first. Collective."""
        self.collectives.clear()
        while self.held:
            self.held.pop().close()

    def drop(self, handle: "Handle") -> None:
        """Destroys a handle of `make` now. Collective if the destruction is collective."""
        if handle in self.held:
            self.held.remove(handle)
        handle.close()

    def forget(self, destroy: Callable[..., Any], address: int) -> None:
        """Destroys an unused handle, or leaves it to the next `make` if another thread is in a call, or while a stream
        is captured, since freeing memory would end the capture."""
        self._unused.put((destroy, address))
        if self._lock.acquire(blocking=False):
            try:
                if not self._cuda or not torch.cuda.is_current_stream_capturing():
                    self._destroy_unused()
            finally:
                self._lock.release()

    def _destroy_unused(self) -> None:
        while not self._unused.empty():
            destroy, address = self._unused.get()
            destroy(address)


class Handle(NotCopied):
    """A handle that the library has created for a rank.

    It is destroyed when it is no longer used, or by `Rank.close` if the destruction is collective.
    """

    def __init__(self, rank: Rank, destroy: Callable[..., Any], made: ctypes.c_void_p, kept: object) -> None:
        self.address: int = made.value or 0
        self._as_parameter_ = made
        self._rank, self._destroy, self._kept = rank, destroy, kept
        self._end = weakref.finalize(self, _forget, rank, destroy, self.address, kept)
        self._end.atexit = False  # nothing needs to be freed when the process exits
        if not rank.forgets:
            self._end.detach()
            rank.held.append(self)

    def close(self) -> None:
        """Destroys the handle now. Later calls do nothing."""
        self._end.detach()
        if self.address:
            with self._rank:
                self._destroy(self._as_parameter_)
            self.address, self._as_parameter_ = 0, ctypes.c_void_p()


def _forget(rank: Rank, destroy: Callable[..., Any], address: int, _kept: object) -> None:
    rank.forget(destroy, address)


_local: dict[torch.device, Rank] = {}
_local_lock = threading.Lock()


def local_rank(device: torch.device | str) -> Rank:
    """A single rank on a device, local to this process and independent of any launcher; created once per device."""
    wanted = torch.device(device)
    if wanted.type not in ("cpu", "cuda"):
        raise SleyUnsupportedError(f"there are no graphs on {wanted}: take cpu or cuda")
    if wanted.type == "cuda" and wanted.index is None:
        wanted = torch.device("cuda", torch.cuda.current_device())
    with _local_lock:
        made = _local.get(wanted)
        if made is None:
            made = _local[wanted] = Rank(_open(wanted), wanted, forgets=True)
    return made


def _open(device: torch.device) -> ctypes.c_void_p:
    options = initial(_c.sley_comm_options, transport=b"self", device=str(device).encode(),
                      threads=torch.get_num_threads())
    return create(lib.sley_comm_close, lib.sley_comm_open, ctypes.byref(options))


def leading_dimension(x: torch.Tensor) -> int:
    """Elements between the beginnings of rows of a matrix; -1 if the library cannot read the matrix without a copy."""
    rows, k = x.shape
    down, across = x.stride()
    if k > 1 and across != 1:
        return -1
    if rows <= 1:
        return max(k, 1)
    return down if down >= max(k, 1) else -1


def rows_of(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    """A matrix that the library can read, copied only if necessary, and its leading dimension."""
    ld = leading_dimension(x)
    if ld >= 0:
        return x, ld
    x = x.contiguous()
    return x, max(x.shape[1], 1)


def require(condition: bool, message: str) -> None:
    """Raises SleyArgumentError with the message if the condition is false."""
    if not condition:
        raise SleyArgumentError(message)
