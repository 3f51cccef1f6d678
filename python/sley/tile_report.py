# SPDX-License-Identifier: Apache-2.0
"""What a product of matrices in tiles took."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from sley import _c
from sley.plan import Traffic


@dataclass(frozen=True)
class TileReport:
    """What a product took on one rank.

    Attributes
    ----------
    total_ms : float
        Of the product, which the next four add up to.
    compute_ms : float
        Products of tiles.
    communicate_ms : float
        Waiting for tiles of other ranks.
    accumulate_ms : float
        Pushing products and adding those that came; of sparse results, adding.
    imbalance_ms : float
        Waiting for slower ranks, at the end.
    tasks : int
        Products of two tiles.
    flops : int
        2 for each product of two numbers.
    stolen : int
        Of the tasks: of tiles of Y of other ranks.
    predicted, counted : Traffic
        Of a product in which nothing is stolen, and of this one, on this rank.
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
