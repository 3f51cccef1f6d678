# SPDX-License-Identifier: Apache-2.0
"""Sley: sparse matrix products across ranks, for NumPy and SciPy.

>>> import sley
>>> y = sley.spmm(a, x, ranks=4)
"""
from sley._direct import CacheInfo, cache_clear, cache_info, cache_limit, threads
from sley._library import decoded as _decoded
from sley._library import lib as _lib
from sley._patch import Patch, patch_scipy
from sley.comm import Comm
from sley.errors import (
    SleyArgumentError,
    SleyError,
    SleyInputError,
    SleyInternalError,
    SleyInterruptedError,
    SleyIOError,
    SleyMemoryError,
    SleyOverflowError,
    SleyPeerError,
    SleyUnsupportedError,
)
from sley.machine import Backend, Info, info
from sley.matrix import Matrix, Source, formats, generate, read, write
from sley.ordering import order, orders, partition
from sley.plan import Plan, PlanInfo, PlanTable, Traffic, algorithms
from sley.products import sddmm, spgemm, spmm
from sley.rooflines import Roofline, RooflineRank, roofline, roofline_algorithms
from sley.tile_products import TileProduct, tile_algorithms
from sley.tile_report import TileReport
from sley.tiles import TiledInfo, TiledMatrix, TileFuture, TileInfo

__version__: str = _decoded(_lib.sley_version())

__all__ = [
    "Backend",
    "CacheInfo",
    "Comm",
    "Info",
    "Matrix",
    "Patch",
    "Plan",
    "PlanInfo",
    "PlanTable",
    "Roofline",
    "RooflineRank",
    "SleyArgumentError",
    "SleyError",
    "SleyIOError",
    "SleyInputError",
    "SleyInternalError",
    "SleyInterruptedError",
    "SleyMemoryError",
    "SleyOverflowError",
    "SleyPeerError",
    "SleyUnsupportedError",
    "Source",
    "TileFuture",
    "TileInfo",
    "TileProduct",
    "TileReport",
    "TiledInfo",
    "TiledMatrix",
    "Traffic",
    "algorithms",
    "cache_clear",
    "cache_info",
    "cache_limit",
    "formats",
    "generate",
    "info",
    "order",
    "orders",
    "partition",
    "patch_scipy",
    "read",
    "roofline",
    "roofline_algorithms",
    "sddmm",
    "spgemm",
    "spmm",
    "threads",
    "tile_algorithms",
    "write",
]
