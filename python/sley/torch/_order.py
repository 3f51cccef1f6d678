# SPDX-License-Identifier: Apache-2.0
"""The order of a graph's rows: computed by name, or chosen by predicted times."""
import ctypes

import torch

from sley import _c
from sley._calls import call, create, value_of
from sley._library import encoded, initial, lib, names_of
from sley.errors import SleyUnsupportedError
from sley.torch._pattern import Block
from sley.torch._rank import Rank

_WIDTH = 64  # columns of the product whose time is predicted
_LEAST_GAIN = 0.05  # another order must save this share of the predicted time


def order_of(rank: Rank, block: Block, name: str) -> tuple[str, torch.Tensor | None]:
    """The name of the order, and for each row its place in it; None: its own. Under "auto" the order in which the least
    time is predicted for a product."""
    if name != "auto":
        return name, None if name == "none" else _place(block, name)
    least, chosen, place = 0.0, "none", None
    for candidate in names_of(lib.sley_order_candidates(1)):
        try:
            own = None if candidate == "none" else _place(block, candidate)
        except SleyUnsupportedError:  # of a library that this build lacks
            continue
        ms = _predicted_ms(rank, block, own)
        if candidate == "none":
            least = (1 - _LEAST_GAIN) * ms
        elif ms < least:
            least, chosen, place = ms, candidate, own
    return chosen, place


def _place(block: Block, name: str) -> torch.Tensor:
    rows = len(block.rowptr) - 1
    place = torch.empty(rows, dtype=torch.int64)
    call(lib.sley_order, block.matrix(torch.ones(len(block.col))), encoded(name), 1, 0, place.data_ptr())
    return place


def _predicted_ms(rank: Rank, block: Block, place: torch.Tensor | None) -> float:
    matrix = block.matrix(torch.ones(len(block.col)))
    address = None if place is None else place.data_ptr()
    permuted = create(lib.sley_matrix_destroy, lib.sley_matrix_permute, matrix, address, address, 0)
    options = initial(_c.sley_plan_options, dry=True)
    try:
        with rank:
            plan = create(lib.sley_plan_destroy, lib.sley_plan_create, rank.comm, permuted, *block.begins, _WIDTH,
                          ctypes.byref(options))
            info = value_of(_c.sley_plan_info, lib.sley_plan_info_get, plan)
            lib.sley_plan_destroy(plan)
    finally:
        lib.sley_matrix_destroy(permuted)
    return float(info.predicted_ms)
