# SPDX-License-Identifier: Apache-2.0
"""The environment variables with which the processes of a `torch.distributed` group meet as Sley's ranks."""
import contextlib
import importlib
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from typing import Any

# All variables for ranks, addresses and secrets, including those of other launchers, whose ranks differ from the
# group's.
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLEY_SECRET",
          "SLEY_SECRET_FILE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")
_lock = threading.Lock()


@contextlib.contextmanager
def variables(values: dict[str, str]) -> Iterator[None]:
    """Replaces the launcher's variables by these while ranks meet; {} keeps the launcher's."""
    if not values:
        yield
        return
    with _lock:
        before = {name: os.environ.pop(name) for name in _NAMES if name in os.environ}
        os.environ.update(values)
        try:
            yield
        finally:
            for name in values:
                del os.environ[name]
            os.environ.update(before)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def of_torch_group(group: Any) -> dict[str, str]:
    """The variables for this process's rank in a group. Collective over the group."""
    dist = importlib.import_module("torch.distributed")
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    hosts: list[Any] = [None] * size
    dist.all_gather_object(hosts, socket.gethostname(), group=group)
    given: list[Any] = [None]
    if rank == 0:
        given[0] = _free_port(), secrets.token_hex(32)
    dist.broadcast_object_list(given, src=dist.get_global_rank(group, 0), group=group)
    port, secret = given[0]
    mates = [other for other in range(size) if hosts[other] == hosts[rank]]
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(mates.index(rank)),
            "LOCAL_WORLD_SIZE": str(len(mates)), "MASTER_ADDR": "127.0.0.1" if len(mates) == size else hosts[0],
            "MASTER_PORT": str(port), "SLEY_SECRET": secret}
