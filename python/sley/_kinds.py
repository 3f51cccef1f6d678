# SPDX-License-Identifier: Apache-2.0
"""Kinds of arguments, by the names that they have in the whole package."""
import functools
import inspect
import numbers
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from sley.errors import SleyArgumentError

_F = TypeVar("_F", bound=Callable[..., Any])


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or of NumPy, and not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_dtype(value: Any) -> bool:
    try:
        np.dtype(value)
    except TypeError:
        return False
    return True


def _are_whole(value: Any, counts: tuple[int, ...]) -> bool:
    return isinstance(value, (tuple, list)) and len(value) in counts and all(map(is_whole, value))


def _is_pair(value: Any) -> bool:
    return _are_whole(value, (2,))


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


# Key: what the argument must be. Values: the test, and the names of arguments.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "a whole number": (is_whole, "k ranks workgroup threads mem_limit columns buffers seed base limit ranks_per_node"),
    "a number": (lambda value: isinstance(value, numbers.Real), "alpha beta"),
    "a text": (lambda value: isinstance(value, str), "algo partition by kernel wire device semiring format spec name"),
    "a path": (_is_path, "path trace"),
    "a sley.Comm": (lambda value: hasattr(value, "_run"), "comm"),
    "a type of NumPy": (_is_dtype, "dtype"),
    "two whole numbers": (_is_pair, "shape grid"),
    "a whole number, or two or three": (lambda value: is_whole(value) or _are_whole(value, (2, 3)), "tiles"),
}
_OF_NAME = {name: (called, test) for called, (test, names) in _KINDS.items() for name in names.split()}


def kinds(function: _F) -> _F:
    """Checks the kinds of arguments before the function is called. None passes where it is the default.

    Raises
    ------
    SleyArgumentError
        An argument is of another kind; the message names it.
    """
    parameters = inspect.signature(function).parameters
    order = list(parameters)
    absent = {name for name, each in parameters.items() if each.default is None}
    known = {name: _OF_NAME[name] for name in parameters if name in _OF_NAME}

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        for name, value in (*zip(order, args, strict=False), *named.items()):
            if name in known and not (value is None and name in absent):
                called, test = known[name]
                if not test(value):
                    raise SleyArgumentError(f"{name} is {value!r}, of type {type(value).__name__}: it must be {called}")
        return function(*args, **named)

    return cast(_F, checked)
