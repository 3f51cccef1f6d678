# SPDX-License-Identifier: Apache-2.0
"""Collectives and top-k on ranks that are threads, of NumPy arrays, against NumPy. (Ranks that are processes:
test_dist.py; tensors: test_torch_collective.py.)"""
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sley
import sley.dist
from sley import _collective

WAYS = list(_collective.ways())


def drawn(ranks: int, count: int, zeros: float, dtype: str, seed: int = 1) -> list[np.ndarray]:
    """Whole numbers, whose sums are exact in any order."""
    random = np.random.default_rng(seed)
    return [np.where(random.uniform(size=count) < zeros, 0, random.integers(-9, 10, count)).astype(dtype)
            for _ in range(ranks)]


@settings(max_examples=60, deadline=None)
@given(ranks=st.integers(1, 5), workgroup=st.integers(0, 3), count=st.integers(0, 3000), zeros=st.floats(0, 1),
       dtype=st.sampled_from(["float32", "float64", "float16", "int64"]), way=st.sampled_from(WAYS),
       compress=st.sampled_from(["none", "auto", "pici", "coo"]), later=st.booleans(), in_place=st.booleans(),
       above=st.sampled_from([None, 0.2, (0, None, 1), (1, 1, 0)]), any_order=st.booleans())
def test_sums_are_numpys(ranks: int, workgroup: int, count: int, zeros: float, dtype: str, way: str, compress: str,
                         later: bool, in_place: bool, above: object, any_order: bool) -> None:
    arrays = drawn(ranks, count, zeros, dtype)
    exact = sum(each.astype(np.float64) for each in arrays)
    given_ = [each.copy() for each in arrays]
    with sley.Comm(ranks, workgroup=min(workgroup, ranks)) as comm, \
            sley.dist.Collective(comm, "allreduce", count, dtype, compress=compress, way=way, dense_above=above,
                                 any_order=any_order) as total:
        one = given_ if ranks > 1 else given_[0]
        made = total(one, out=one if in_place else None, async_op=later)
        made = made.wait() if later else made
        infos = total.info if ranks > 1 else [total.info]
        for each, info in zip(made if ranks > 1 else [made], infos, strict=True):
            assert each.dtype == np.dtype(dtype) and np.array_equal(each.astype(np.float64), exact)
            assert info.inter + info.intra + info.allgather == info.arrays
        assert in_place or all(np.array_equal(one, other) for one, other in zip(given_, arrays, strict=True))


@pytest.mark.parametrize("compress", ["none", "coo"])
def test_parts(compress: str) -> None:
    counts, arrays = [3, 0, 700], drawn(3, 703, 0.9, "float32")
    begin = [0, 3, 3, 703]
    with sley.Comm(3) as comm, sley.dist.Collective(comm, "reducescatter", counts, compress=compress) as scatter, \
            sley.dist.Collective(comm, "allgather", counts, compress=compress) as gather:
        parts = scatter(arrays)
        for r, part in enumerate(parts):
            assert np.array_equal(part, sum(arrays)[begin[r]:begin[r + 1]])
        for whole in gather(parts):
            assert np.array_equal(whole, sum(arrays))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [0, 0.5, 0.9, 1])
def test_leaky_top_k(dtype: str, factor: float) -> None:
    """Bits of the documented formula, with sums over several steps and residuals that are saved and loaded."""
    random, count, ranks = np.random.default_rng(3), 5000, 3
    residuals = [np.zeros(count, dtype) for _ in range(ranks)]
    with sley.Comm(ranks) as comm, sley.dist.TopK(comm, count, dtype, density=0.05, residual_factor=factor) as keep:
        for step in range(5):
            gradients = [random.normal(size=count).astype(dtype) for _ in range(ranks)]
            sent = keep(gradients, async_op=bool(step % 2))
            sent = sent.wait() if step % 2 else sent
            for r, info in enumerate(keep.info):
                sums = gradients[r] + (factor * residuals[r].astype(np.float64)).astype(dtype)
                kept = np.abs(sums.astype(np.float64)) >= info.threshold
                assert np.array_equal(sent[r], np.where(kept, sums, 0)) and info.kept == np.count_nonzero(sent[r])
                assert 0.02 < info.kept / count < 0.1
                residuals[r] = np.where(kept, 0, sums).astype(dtype)
            for one, other in zip(keep.residual, residuals, strict=True):
                assert np.array_equal(one, other)
            keep.residual = [each * 2 for each in residuals]
            residuals = [each * 2 for each in residuals]


def test_later_calls_keep_their_order() -> None:
    """Several unfinished calls, and calls of other operations after them, are run in the order of the program."""
    values = [np.full(1000, r + 1.0, np.float32) for r in range(2)]
    with sley.Comm(2) as comm, sley.dist.Collective(comm, "allreduce", 1000) as total:
        works = [total(values, out=values, async_op=True) for _ in range(8)]
        made = total(values)
        assert all(work.done() for work in works)
        assert all(each is value for each, value in zip(works[-1].wait(), values, strict=True))
        assert made[0][0] == made[1][0] == 3 * 2.0**8
        slow = total(values, async_op=True)
        threads = [threading.Thread(target=slow.wait) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert slow.wait(1)[0][0] == 3 * 2.0**8
    with pytest.raises(sley.SleyArgumentError, match="closed"):
        total(values)


def test_works_of_a_comm_that_is_closed() -> None:
    comm = sley.Comm(2)
    total = sley.dist.Collective(comm, "allreduce", 10)
    work = total([np.ones(10, np.float32)] * 2, async_op=True)
    comm.close()
    assert work.done() and work.wait()[1][0] == 2


def test_what_is_refused() -> None:
    one = [np.zeros(10, np.float32) for _ in range(2)]
    with sley.Comm(2) as comm, sley.dist.Collective(comm, "allreduce", 10) as total:
        wrong = {"src must be a list of 2": one[0], "src has 9": [each[:9] for each in one],
                 "type float64": [each.astype(np.float64) for each in one]}
        for words, src in wrong.items():
            with pytest.raises(sley.SleyArgumentError, match=words):
                total(src)
        with pytest.raises(sley.SleyArgumentError, match="out of rank 0 overlaps an array of rank 1"):
            total(one, out=[one[1], np.zeros(10, np.float32)])
        with pytest.raises(sley.SleyArgumentError, match="out of rank 0 overlaps an array of rank 1"):
            total(one, out=[one[0], one[0]])
        with pytest.raises(sley.SleyArgumentError, match="must be an array, not list"):
            total(one, out=[[0.0] * 10, one[1]])
        for words, make in {
            "for all-reduces only": lambda: sley.dist.Collective(comm, "allgather", 3, compress="coo", way="split-dense"),
            "no values of type complex64": lambda: sley.dist.Collective(comm, "allreduce", 3, np.complex64),
            "residual_factor is 1.5": lambda: sley.dist.TopK(comm, 3, residual_factor=1.5),
            "not of int64": lambda: sley.dist.TopK(comm, 3, np.int64),
        }.items():
            with pytest.raises(sley.SleyError, match=words):
                make()
        memory, other = np.zeros(11, np.float32), np.zeros(10, np.float32)
        with sley.dist.TopK(comm, 10) as keep, pytest.raises(sley.SleyArgumentError, match="out overlaps src"):
            keep([memory[:10], one[1]], out=[memory[1:], other])
