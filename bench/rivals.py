# SPDX-License-Identifier: Apache-2.0
"""Libraries that are compared with Sley, by their C interfaces: MKL's sparse products, from libmkl_rt of the wheel mkl, and calls
whose status is checked."""
import ctypes
import glob
import os
import sys

import numpy as np


class Library:
    """Functions that return a status, 0 for success."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returns {status}")


def address(array, bytes_more=0):
    return ctypes.c_void_p(array.ctypes.data + bytes_more)


class Mkl(Library):
    """Raises OSError if MKL is not installed."""

    def __init__(self, threads):
        places = [os.path.join(place, "lib", "libmkl_rt.so*") for place in (sys.prefix, sys.base_prefix, "/usr/local")]
        super().__init__(next((file for place in places for file in sorted(glob.glob(place))), "libmkl_rt.so"))
        self.lib.MKL_Set_Num_Threads(ctypes.c_int(threads))

    def typed(self, name, dtype, *arguments):
        """Calls a function whose name has the letter of the type."""
        self.call(name.replace("TYPE", "s" if dtype == np.float32 else "d"), *arguments)

    def handle(self, shape, rowptr, col, val):
        """A handle of a CSR matrix with 32-bit numbers, whose arrays must outlive it."""
        out = ctypes.c_void_p()
        self.typed("mkl_sparse_TYPE_create_csr", val.dtype, ctypes.byref(out), 0, *shape, address(rowptr), address(rowptr, 4), address(col), address(val))
        return out
