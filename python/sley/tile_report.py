# SPDX-License-Identifier: Apache-2.0
"""Reports on products of matrices in tiles."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from sley import _c
from sley.plan import Traffic


@dataclass(frozen=True)
class TileReport:
    """Time and work of a product on one rank.

    Attributes
    ----------
    total_ms : float
        Time of the product, the sum of the next four times.
    compute_ms : float
        Products of tiles.
    communicate_ms : float
        Waiting for tiles of other ranks.
    accumulate_ms : float
        Pushing products and adding received products; for sparse results only adding.
    imbalance_ms : float
        Waiting for slower ranks at the end.
    tasks : int
        Number of products of two tiles.
    flops : int
        Operations: 2 per product of two numbers.
    stolen : int
        Number of these tasks that were taken from other ranks.
    predicted, counted : Traffic
        Traffic of this rank: predicted for a product without stealing, and counted in this product.
    """

    total_ms: float
    compute_ms: float
    communicate_ms: float
    accumulate_ms: float
    imbalance_ms: float
    tasks: int
    flops: int
    stolen: int
    predicted: Traffic
    counted: Traffic

    @classmethod
    def _of(cls, made: _c.sley_tile_report) -> Self:
        values = {name: getattr(made, name) for name in cls.__dataclass_fields__}
        values["predicted"], values["counted"] = Traffic._of(made.predicted), Traffic._of(made.counted)
        return cls(**values)


def reports_of(made: Sequence[Any]) -> tuple[TileReport, ...]:
    """The reports of this process's ranks."""
    return tuple(TileReport._of(each) for each in made)
