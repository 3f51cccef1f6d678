# SPDX-License-Identifier: Apache-2.0
"""sley.dist: ranks that are processes, which a launcher of four lines starts as torchrun does."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from dist_programs import A, X
from support import assert_product, dense_of

import sley
import sley.dist

PROGRAMS = Path(__file__).with_name("dist_programs.py")
PATH = os.pathsep.join(each for each in sys.path if each)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(ranks: int, *program: str, cwd: Path | None = None) -> list[subprocess.Popen[str]]:
    common = {**os.environ, "PYTHONPATH": PATH, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
              "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [subprocess.Popen([sys.executable, *program], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(ranks)]


def ends(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    try:
        return [(each.wait(90), each.stdout.read(), each.stderr.read()) for each in processes]
    finally:
        for each in processes:
            each.kill()
            each.communicate()


def launched(ranks: int, *program: str, cwd: Path | None = None) -> list[tuple[int, str, str]]:
    """What the ranks of a program have ended with: status, output and errors."""
    return ends(start(ranks, *program, cwd=cwd))


def assert_done(ranks: int, *program: str) -> None:
    for status, out, errors in launched(ranks, str(PROGRAMS), *program):
        assert (status, out) == (0, "done\n"), errors


@pytest.mark.parametrize("ranks", [1, 3])
def test_tiles(ranks: int) -> None:
    assert_done(ranks, "tiles")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_products(ranks: int) -> None:
    assert_done(ranks, "products")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_collectives(ranks: int) -> None:
    assert_done(ranks, "collectives")


def test_rows_that_only_their_rank_has(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx.gz"
    sley.write(A, path)
    assert_done(3, "own_rows", str(path))


def test_forgetting_waits_for_nobody() -> None:
    assert_done(3, "forgets")


def test_a_program_may_end_without_shutdown() -> None:
    assert_done(3, "does_not_shut_down")


def test_a_rank_that_fails_is_named() -> None:
    made = launched(3, str(PROGRAMS), "one_fails")
    assert made[1][0] == 3
    for status, out, errors in (made[0], made[2]):
        assert (status, out) == (0, "done\n"), errors


def test_several_comms() -> None:
    assert_done(2, "two_comms")


def test_ctrl_c_ends_all() -> None:
    processes = start(2, str(PROGRAMS), "interrupted")
    assert [each.stdout.readline() for each in processes] == ["ready\n"] * 2
    time.sleep(0.2)
    for each in processes:
        each.send_signal(signal.SIGINT)
    before = time.perf_counter()
    for status, out, errors in ends(processes):
        assert (status, out) == (0, "done\n"), errors
    assert time.perf_counter() - before < 20


def test_without_a_launcher_there_is_one_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    comm = sley.dist.init()
    assert (comm.rank, comm.size, comm.here) == (0, 1, 1)
    assert_product(sley.spmm(A, X, comm=comm), dense_of(A), X, "float64")
    comm.shutdown()
    with pytest.raises(sley.SleyArgumentError, match="the comm is closed"):
        comm.barrier()


def test_what_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sley.SleyArgumentError, match="group is of builtins"):
        sley.dist.init(3)
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(sley.SleyArgumentError, match="RANK is 5"):
        sley.dist.init()
    monkeypatch.delenv("RANK")
    monkeypatch.delenv("WORLD_SIZE")
    comm = sley.dist.init()
    with pytest.raises(sley.SleyArgumentError, match="no reduction 'product'"):
        comm.allreduce([1], "product")
    with pytest.raises(sley.SleyInputError):
        sley.dist.read(comm, __file__)
    assert comm.allreduce(np.arange(3)).tolist() == [0, 1, 2]
    comm.shutdown()


def test_ranks_of_an_mpi_communicator() -> None:
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    if not any((each.name, each.available) == ("mpi", True) for each in sley.info().backends):
        pytest.skip("the library has no transport mpi")
    made = subprocess.run(
        ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "3", sys.executable, str(PROGRAMS), "mpi"],
        env={**os.environ, "PYTHONPATH": PATH}, capture_output=True, text=True, timeout=120)
    assert (made.returncode, made.stdout.count("done")) == (0, 3), made.stderr  # lines of ranks may mix


def test_ranks_of_a_group_of_torch_distributed() -> None:
    pytest.importorskip("torch")
    assert_done(3, "torch")
