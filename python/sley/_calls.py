# SPDX-License-Identifier: Apache-2.0
"""Calls of the library in the caller's thread: a status becomes an exception, and Ctrl-C ends the call.

Python runs a handler of SIGINT only after a C function has returned. So while the main thread is in the library, SIGINT
calls sley_interrupt, which is async-signal-safe. Afterwards the signal is raised again for Python's own handler, which
raises KeyboardInterrupt or runs the program's code.
"""
import _thread
import ctypes
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from sley._library import Struct, lib
from sley.errors import last_error

_SIGACTION_BYTES = 256  # more than any struct sigaction, which begins with the address of the handler
_ADDRESS_BYTES = ctypes.sizeof(ctypes.c_void_p)
_sigaction = ctypes.CDLL(None).sigaction
_sigaction.restype, _sigaction.argtypes = ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_interrupt = ctypes.cast(lib.sley_interrupt, ctypes.c_void_p)
_AGAIN_SECONDS = 0.01  # a finalizer has returned after this time


def _call_interruptible(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Calls a function in the main thread, with sley_interrupt as the handler of SIGINT."""
    before, during = ctypes.create_string_buffer(_SIGACTION_BYTES), ctypes.create_string_buffer(_SIGACTION_BYTES)
    _sigaction(signal.SIGINT, None, before)
    ctypes.memmove(during, before, _SIGACTION_BYTES)
    ctypes.memmove(during, ctypes.byref(_interrupt), _ADDRESS_BYTES)
    try:
        _sigaction(signal.SIGINT, during, None)
        return function(*arguments)
    finally:
        _sigaction(signal.SIGINT, before, None)


def call(function: Callable[..., Any], *arguments: Any) -> None:
    """Calls a function that returns a status.

    Raises
    ------
    SleyError
        The status is not SLEY_OK.
    KeyboardInterrupt
        SIGINT arrived during the call; Python's own handler raises this.
    """
    if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
        try:
            status = _call_interruptible(function, arguments)
            error = last_error(status) if status else None
        finally:
            interrupted = lib.sley_interrupt_clear()
        if interrupted:
            signal.raise_signal(signal.SIGINT)
    else:
        status = function(*arguments)
        error = last_error(status) if status else None
    if error is not None:
        raise error


def create(destroy: Callable[[ctypes.c_void_p], Any], function: Callable[..., Any], *arguments: Any) -> ctypes.c_void_p:
    """Calls a function whose last argument receives a handle, which is destroyed if anything is raised."""
    out = ctypes.c_void_p()
    try:
        call(function, *arguments, ctypes.byref(out))
    except BaseException:
        if out:
            destroy(out)
        raise
    return out


def value_of(kind: type[Struct], function: Callable[..., Any], handle: object) -> Struct:
    """Calls a function that fills a struct about a handle, and returns the struct. It takes too short a time for Ctrl-C
    to matter."""
    out = kind()
    status = function(handle, ctypes.byref(out))
    if status:
        raise last_error(status)
    return out


def destroy_later(owner: object, destroy: Callable[..., Any], *arguments: Any) -> None:
    """Destroys an object when its owner is garbage-collected. No rank may have to wait for the destruction.

    Nothing is destroyed when the program ends, because ranks that end at that time may still read the object.
    """
    weakref.finalize(owner, _destroy, destroy, arguments).atexit = False


def _destroy(destroy: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Destroys an object in a finalizer. Python ignores a KeyboardInterrupt there, so the signal is sent again
    afterwards."""
    try:
        destroy(*arguments)
    except KeyboardInterrupt:
        _send_again()


def _send_again() -> None:
    try:  # noqa: SIM105 (a finalizer calls this, also when Python exits)
        _thread.start_new_thread(_send, ())  # not threading.Thread, whose locks the interrupted code may hold
    except RuntimeError:  # Python is exiting
        pass


def _send() -> None:
    time.sleep(_AGAIN_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)
