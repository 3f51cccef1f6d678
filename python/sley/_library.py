# SPDX-License-Identifier: Apache-2.0
"""Finds libsley.so and loads it: `lib` has the functions of the headers, with their types."""
import ctypes
import os
from pathlib import Path
from typing import Any, TypeVar

from sley import _c

_INSIDE = Path(__file__).resolve().parent / "lib" / "libsley.so"


def _place() -> str:
    """The path of the library: in the package, else from SLEY_LIBRARY, else a name for the system's loader."""
    if _INSIDE.exists():
        return str(_INSIDE)
    return os.environ.get("SLEY_LIBRARY") or f"libsley.so.{_c.SLEY_VERSION_MAJOR}"


def _load(place: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(place)
    except OSError as error:
        raise ImportError(f"sley: cannot load the library {place} ({error}); set SLEY_LIBRARY to its path") from error
    for name, (result, arguments) in _c.FUNCTIONS.items():
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    version = library.sley_version().decode()
    wanted = f"{_c.SLEY_VERSION_MAJOR}.{_c.SLEY_VERSION_MINOR}."
    if not version.startswith(wanted):
        raise ImportError(f"sley: {place} has version {version}, and this package is for {wanted}x")
    return library


library_path: str = _place()
lib: Any = _load(library_path)

Struct = TypeVar("Struct", bound=ctypes.Structure)


def initial(struct: type[Struct], **fields: Any) -> Struct:
    """A struct with the values of its INIT macro, except for the given fields."""
    made = struct()
    values = {"struct_size": ctypes.sizeof(struct), **getattr(struct, "INITIAL", {}), **fields}
    for name, value in values.items():
        setattr(made, name, value)
    return made


def encoded(text: str | os.PathLike[str] | None) -> bytes | None:
    """A name or a path as bytes for C."""
    return None if text is None else os.fsencode(text)


def decoded(text: bytes | None) -> str:
    """Text from C; "" for NULL."""
    return "" if text is None else os.fsdecode(text)


def names_of(table: Any) -> list[str]:
    """The names in a NULL-terminated array."""
    names: list[str] = []
    while table[len(names)] is not None:
        names.append(decoded(table[len(names)]))
    return names


def taken_text(block: ctypes.c_void_p) -> str:
    """Text that C has allocated for the caller; the memory is freed."""
    try:
        return decoded(ctypes.cast(block, ctypes.c_char_p).value)
    finally:
        lib.sley_buffer_free(block)
