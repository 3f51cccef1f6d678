# SPDX-License-Identifier: Apache-2.0
"""What owns handles is neither copied nor used in a forked child, which neither waits nor disturbs its parent."""
import atexit
import copy
import gc
import multiprocessing
import os
import pickle
import select
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import sley
import sley.dist

A, X = scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0, 4.0])), np.arange(8.0).reshape(4, 2)
_SECONDS = 60  # until a child counts as one that waits for ever


def owners() -> list[Any]:
    """One of each class of whose objects Python holds handles."""
    comm = sley.Comm(2)
    tiled = sley.TiledMatrix(A, comm=comm)
    plan = sley.Plan(A, 2, comm=comm)
    product = sley.TileProduct(tiled, X)
    return [comm, comm._runner, comm._holdings, sley.Comm(1)._runner, plan, plan._division, plan._multiplier, tiled,
            tiled.get_tile_later(0, 0), product]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, *(lambda a, n=n: pickle.dumps(a, n) for n in range(6))])
def test_owners_are_not_copied(way: Callable[[Any], Any]) -> None:
    for each in owners():
        with pytest.raises(TypeError, match=f"{type(each).__name__} is neither copied nor pickled"):
            way(each)


def in_child(job: Callable[[], object], leave: Callable[[], None] | None = None) -> str:
    """What a job returns or raises in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, repr(job()).encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os.close(write)
            if leave is not None:
                leave()
            os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], _SECONDS)
    said = os.read(read, 4096).decode() if ready else "nothing"
    os.close(read)
    if not ready:
        os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, said
    return said


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_child_uses_none_of_its_parents_ranks(ranks: int) -> None:
    with sley.Comm(ranks) as comm, sley.TiledMatrix(A, comm=comm) as tiled, sley.TileProduct(tiled, X) as product, \
         sley.Plan(A, 2, comm=comm, renewable=True) as plan:
        later = tiled.get_tile_later(0, 0)
        expected = plan(X)
        for job in (lambda: plan(X), lambda: sley.spmm(A, X, comm=comm), lambda: sley.Plan(A, 2, comm=comm),
                    plan.counted, plan.describe, plan.table, plan.transpose, lambda: plan.set_values(A),
                    lambda: sley.sddmm(A, X, X, comm=comm), tiled.gather, lambda: tiled.get_tile(0, 0),
                    lambda: tiled.tile_info(0, 0), later.result, product.run, lambda: tiled.put_tile(0, 0, [1.0])):
            assert f"belong to process {os.getpid()}" in in_child(job)
        for job in (plan.close, comm.close, tiled.close, product.close, later.close):
            assert in_child(job) == "None"
        assert np.array_equal(plan(X), expected)
        assert later.result().nnz > 0 and np.array_equal(product.run().gather(), expected)
        assert in_child(lambda: sley.spmm(A, X, ranks=2).tolist()) == repr(expected.tolist())
        assert in_child(lambda: sley.Matrix(A).T.nnz) == "4"
        assert np.array_equal(plan(X), expected)


def test_garbage_and_the_end_of_a_child_wait_for_nothing() -> None:
    held = [sley.Plan(A, 2, ranks=2), sley.Plan(A, 2), sley.Matrix(A), sley.TiledMatrix(A, ranks=2)]

    def forget() -> bool:
        held.clear()
        return gc.collect() >= 0

    assert in_child(forget) == "True"
    assert in_child(lambda: None, atexit._run_exitfuncs) == "None"
    assert np.array_equal(held[0](X), A @ X)
    for each in held[:2]:
        each.close()


def test_a_lock_that_another_thread_held_is_not_waited_for() -> None:
    plan, held, go = sley.Plan(A, 2, ranks=2), threading.Event(), threading.Event()

    def hold() -> None:
        with plan.comm._lock:
            held.set()
            go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert "belong to process" in in_child(lambda: plan(X)) and in_child(plan.close) == "None"
    go.set()
    thread.join()
    plan.close()


def _work(given: Any) -> str:
    try:
        return repr(given(X).tolist())
    except sley.SleyArgumentError as error:
        return str(error)


_plan: list[Any] = []


def _work_of_parent(_: int) -> str:
    return _work(_plan[0])


def test_pools_of_multiprocessing() -> None:
    """A pool that forks has the parent's plan, which it may not use, and takes matrices by pickle."""
    _plan[:] = [sley.Plan(A, 2, ranks=2)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert all("belong to process" in each for each in pool.map_async(_work_of_parent, range(4)).get(_SECONDS))
        made = pool.map_async(_product, [sley.Matrix(A)] * 3).get(_SECONDS)
    assert all(np.array_equal(each, A @ X) for each in made)
    _plan.pop().close()


def _product(matrix: sley.Matrix) -> np.ndarray:
    return sley.spmm(matrix, X, ranks=2)
