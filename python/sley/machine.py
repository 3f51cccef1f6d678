# SPDX-License-Identifier: Apache-2.0
"""Features of this build of the library and of this machine."""
import ctypes
from dataclasses import dataclass

from sley import _c
from sley._calls import call
from sley._html import html_table
from sley._library import decoded, lib, library_path
from sley.plan import algorithms


@dataclass(frozen=True)
class Backend:
    """A device or transport, whether it is available, and a description or the reason why it is not."""

    kind: str
    name: str
    available: bool
    detail: str


@dataclass(frozen=True)
class Info:
    """What this build of the library and this machine offer.

    Attributes
    ----------
    version, library : str
        The library's version, and the file or name from which it was loaded.
    backends : tuple of Backend
        The devices and transports.
    algorithms, kernels : tuple of str
        The names for `algo` and `kernel` of `Plan`.
    """

    version: str
    library: str
    backends: tuple[Backend, ...]
    algorithms: tuple[str, ...]
    kernels: tuple[str, ...]

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("version", self.version), ("library", self.library)]
        rows += [(f"{each.kind} {each.name}", ("yes" if each.available else "no")
                  + (f": {each.detail}" if each.detail else "")) for each in self.backends]
        return [*rows, ("algorithms", ", ".join(self.algorithms)), ("kernels", ", ".join(self.kernels))]

    def __str__(self) -> str:
        return "\n".join(f"{name:20} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._rows())


def _backends() -> tuple[Backend, ...]:
    table, count = ctypes.POINTER(_c.sley_backend)(), ctypes.c_int()
    call(lib.sley_backends, ctypes.byref(table), ctypes.byref(count))
    return tuple(Backend(decoded(each.kind), decoded(each.name), each.available, decoded(each.detail))
                 for each in table[: count.value])


def _kernels() -> tuple[str, ...]:
    count = ctypes.c_int()
    room = 0
    while True:
        found = (_c.sley_kernel * max(room, 1))()
        call(lib.sley_kernels, None, found, room, ctypes.byref(count))
        if count.value <= room:
            return tuple(decoded(each.name) for each in found[: count.value])
        room = count.value


def info() -> Info:
    """Features of this build of the library and of this machine; it prints as one line per feature."""
    return Info(decoded(lib.sley_version()), library_path, _backends(), tuple(algorithms()), _kernels())
