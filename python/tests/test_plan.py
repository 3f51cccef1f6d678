# SPDX-License-Identifier: Apache-2.0
"""Plans and comms: figures, ends, threads, memory."""
import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from support import assert_product, dense_of, drawn

import sley

A = drawn(200, 200, 2000, 7)
X = np.random.default_rng(7).uniform(-1, 1, (200, 6))


@pytest.mark.parametrize("algo", sley.algorithms())
def test_every_algorithm(algo: str) -> None:
    with sley.Comm(4, workgroup=2) as comm, sley.Plan(A, 6, comm=comm, algo=algo) as plan:
        assert plan.info.algo == algo and plan.info.k == 6 and plan.info.nnz == A.nnz
        assert_product(plan(X), dense_of(A), X, "float64")
        assert plan.counted() == plan.info.predicted
        assert plan.info.predicted.message_bytes > 0
        transposed = plan.transpose()
        assert_product(transposed(X), dense_of(A).T, X, "float64")
        assert transposed.transpose().shape == plan.shape


def test_the_table() -> None:
    with sley.Plan(A, 6, ranks=4) as plan:
        table = plan.table()
        assert [each.algo for each in table] == list(sley.algorithms())
        halo = sley.Plan(A, 6, ranks=4, algo="halo").info.predicted
        assert {each.algo: each.predicted for each in table}["halo"] == halo
        assert plan.info.algo == min(table, key=lambda each: each.predicted_ms).algo
        assert repr(table).splitlines()[0].startswith("algo ") and len(repr(table).splitlines()) == len(table) + 1
        assert table._repr_html_().count("<tr>") == len(table) + 1
        assert [each.algo for each in plan.table(["halo", "cover"])] == ["halo", "cover"]
        with pytest.raises(sley.SleyArgumentError, match="nonsense"):
            plan.table(["nonsense"])


def test_what_a_plan_says() -> None:
    with sley.Plan(A, 6, ranks=3) as plan:
        assert plan.shape == (200, 200) and plan.k == 6 and plan.comm.size == 3 and plan.matrix.nnz == A.nnz
        assert len(plan.describe()) == 3 and plan.describe()[1].startswith("rank 1 of 3")
        assert repr(plan).startswith("<sley.Plan 200 x 200, k = 6, 3 ranks, ")
        assert "algorithm" in plan._repr_html_()
    assert repr(plan).endswith("closed>")


def test_columns_in_blocks() -> None:
    a, x = drawn(3000, 3000, 20000, 1), np.random.default_rng(1).random((3000, 96))
    whole = sley.Plan(a, 96, ranks=2, algo="halo-coalesced").info
    with sley.Plan(a, 96, ranks=2, algo="halo-coalesced", mem_limit=whole.memory_bytes // 2) as plan:
        assert plan.info.column_blocks > 1
        assert_product(plan(x), dense_of(a), x, "float64")


def test_parameters_of_an_algorithm() -> None:
    with sley.Plan(A, 6, ranks=2, algo="rowwise:get=block,ps=4") as plan:
        assert plan.info.algo == "rowwise"
        assert_product(plan(X), dense_of(A), X, "float64")


def test_a_kernel_by_name() -> None:
    assert "f64-portable" in sley.info().kernels
    with sley.Plan(A, 6, kernel="f64-portable") as plan:
        assert_product(plan(X), dense_of(A), X, "float64")
    with pytest.raises(sley.SleyArgumentError, match="f64-portable"):
        sley.Plan(A, 6, kernel="nonsense")


def test_bad_arguments_carry_the_librarys_message() -> None:
    with pytest.raises(sley.SleyArgumentError, match="nonsense.*halo") as caught:
        sley.Plan(A, 6, algo="nonsense")
    assert caught.value.status == 1 and isinstance(caught.value, ValueError)
    with pytest.raises(sley.SleyArgumentError, match="rows=4.* its parameters are ps=1"):
        sley.Plan(A, 6, algo="rowwise:rows=4")
    with pytest.raises(sley.SleyUnsupportedError, match="rowwise") as unsupported:
        sley.Plan(A, 6, ranks=2, algo="rowwise", wire="bf16")
    assert unsupported.value.status == 5
    with pytest.raises(sley.SleyArgumentError, match="nonsense"):
        sley.Plan(A, 6, partition="nonsense")
    with pytest.raises(sley.SleyArgumentError, match="k is -1"):
        sley.Plan(A, -1)
    with pytest.raises(sley.SleyArgumentError, match="either ranks or comm"):
        sley.Plan(A, 6, ranks=2, comm=sley.Comm(2))
    for ranks in (0, -1, 2**31):
        with pytest.raises(sley.SleyArgumentError, match="at least 1"):
            sley.Comm(ranks)
        with pytest.raises(sley.SleyArgumentError, match="at least 1"):
            sley.partition(A, ranks)


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_comm_survives_bad_arguments(ranks: int) -> None:
    with sley.Comm(ranks) as comm:
        with pytest.raises(sley.SleyArgumentError):
            sley.Plan(A, 6, comm=comm, wire="nonsense")
        assert_product(sley.spmm(A, X, comm=comm), dense_of(A), X, "float64")


@pytest.mark.parametrize("ranks", [1, 4])
def test_ends(ranks: int) -> None:
    comm = sley.Comm(ranks)
    plan, other = sley.Plan(A, 6, comm=comm), sley.Plan(A, 6, comm=comm)
    plan.close()
    plan.close()
    with pytest.raises(sley.SleyArgumentError, match="the plan is closed"):
        plan(X)
    other(X)
    comm.close()
    comm.close()
    assert other.closed and comm.closed and repr(comm).endswith("closed>")
    with pytest.raises(sley.SleyArgumentError, match="the plan is closed"):
        other(X)
    other.close()
    with pytest.raises(sley.SleyArgumentError, match="the comm is closed"):
        sley.Plan(A, 6, comm=comm)


def test_a_plan_ends_its_own_comm() -> None:
    plan = sley.Plan(A, 6, ranks=3)
    transposed = plan.transpose()
    plan.close()
    assert plan.comm.closed and transposed.closed


def test_what_is_forgotten_ends() -> None:
    before = threading.active_count()
    for ranks in (1, 3):
        plan = sley.Plan(A, 6, ranks=ranks)
        plan(X)
        del plan
    gc.collect()
    for each in threading.enumerate():
        if each.name == "sley ranks":
            each.join(10)
    assert threading.active_count() <= before


def test_several_python_threads() -> None:
    """Comms of their own at the same time, and one that they share."""
    shared = sley.Plan(A, 6, ranks=2)
    wrong: list[int] = []

    def work(number: int) -> None:
        x = X + number
        for i in range(40):
            plan = shared if i % 2 else sley.Plan(A, 6, ranks=1 + number % 3)
            if not np.allclose(plan(x), A @ x):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_calls_release_the_interpreter() -> None:
    """While a thread is in the library others run Python."""
    steps = [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            steps[0] += 1
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = steps[0]
    sley.generate("rmat:scale=16,edgefactor=16")
    after = steps[0]
    done.set()
    thread.join()
    assert after - before > 3


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# How many plans the first of these makes; ranks that wait for each other take longer.
PLANS = int(os.environ.get("SLEY_TEST_PLANS", "10000"))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
@pytest.mark.parametrize(("ranks", "closes", "plans"),
                         [(1, True, PLANS), (1, False, PLANS // 3), (2, True, PLANS // 10)])
def test_no_leak_over_10000_plans(ranks: int, closes: bool, plans: int) -> None:
    a, x = sley.Matrix(drawn(30, 30, 90, 1)), np.ones((30, 4))

    def make(count: int) -> None:
        for _ in range(count):
            plan = sley.Plan(a, 4, comm=comm)
            plan(x)
            if closes:
                plan.close()

    with sley.Comm(ranks) as comm:
        make(500)
        gc.collect()
        before = resident_bytes()
        make(plans)
        gc.collect()
        # what allocators keep after other tests; a plan has KBs
        assert resident_bytes() - before < (1 << 22) + 300 * plans


def test_no_leak_of_comms() -> None:
    x = np.ones((30, 4))
    a = sley.Matrix(drawn(30, 30, 90, 1))
    for _ in range(20):
        sley.spmm(a, x, ranks=2)
    before = resident_bytes()
    for _ in range(300):
        sley.spmm(a, x, ranks=2)
    assert resident_bytes() - before < 3 << 20
    assert not [each for each in threading.enumerate() if each.name == "sley ranks" and each.is_alive()][1:]


def test_the_timeline(tmp_path: Path) -> None:
    for ranks in (1, 2):
        path = tmp_path / f"trace{ranks}.json"
        with sley.Comm(ranks, trace=path) as comm:
            sley.spmm(A, X, comm=comm)
        assert path.read_text().startswith(("{", "["))


def test_order_and_partition() -> None:
    for name in ("none", "rabbit", "rcm", "degree", "loa", "cover", "random"):
        perm = sley.order(A, name, seed=2)
        assert perm.dtype == np.int64 and np.array_equal(np.sort(perm), np.arange(200))
        assert np.array_equal(perm, sley.order(A, name, seed=2))
    with pytest.raises(sley.SleyArgumentError, match="square"):
        sley.order(drawn(3, 4, 5, 1))
    for by in ("nnz", "rows"):
        begin = sley.partition(A, 7, by=by)
        assert begin.shape == (8,) and begin[0] == 0 and begin[-1] == 200 and np.all(np.diff(begin) >= 0)


def test_info() -> None:
    made = sley.info()
    assert made.version == sley.__version__
    found = {(each.kind, each.name) for each in made.backends if each.available}
    assert {("device", "cpu"), ("transport", "threads")} <= found
    assert "halo" in made.algorithms and "halo" in str(made) and "transport threads" in made._repr_html_()


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("transpose", [False, True])
def test_new_values_have_the_bits_of_a_new_plan(ranks: int, transpose: bool) -> None:
    a, x = drawn(40, 40, 300, 1), np.random.default_rng(1).random((40, 3))
    other = scipy.sparse.csr_array((a.data * 3 - 1, a.indices, a.indptr), shape=a.shape)
    with sley.Plan(a, 3, ranks=ranks, transpose=transpose, renewable=True, algo="halo") as plan, \
         sley.Plan(other, 3, ranks=ranks, transpose=transpose, renewable=True, algo="halo") as fresh:
        before, earlier = plan(x), plan.transpose()
        given = other.data.copy()
        for values, expected in ((given, fresh), (sley.Matrix(a), None), (other, fresh)):
            plan.set_values(values)
            given[:] = 0  # it was copied
            assert np.array_equal(plan(x), before if expected is None else expected(x))
        assert np.array_equal(plan.matrix.data, other.data)
        assert np.array_equal(plan.transpose()(x), fresh.transpose()(x))
        assert np.allclose(earlier(x), (a if transpose else a.T) @ x)


def test_what_new_values_cannot_be() -> None:
    a, x = drawn(40, 40, 300, 1, "float32"), np.random.default_rng(1).random((40, 3)).astype(np.float32)
    plan = sley.Plan(a, 3, ranks=2, renewable=True)
    before = plan(x)
    moved = a.copy()
    moved.indices = (moved.indices + 1) % 40
    for bad, what in ((a.data[:-1], "entries"), (a.data.astype(float), "float64"), (a.data * 1j, "complex"),
                      (a.T, "places"), (moved, "places"), (a.astype(float), "float64"),
                      (sley.Matrix(a.astype(float)), "float64")):
        with pytest.raises((sley.SleyArgumentError, sley.SleyUnsupportedError), match=what):
            plan.set_values(bad)
        assert np.array_equal(plan(x), before)
    for unsorted in (a.tocsc(), a.tocoo(), scipy.sparse.csr_array((np.ones(2), [1, 0], [0, 2]), shape=(1, 2))):
        with sley.Plan(unsorted, 3, renewable=True) as other, pytest.raises(ValueError, match="another order"):
            other.set_values(unsorted.data)
    with pytest.raises(sley.SleyArgumentError, match="renewable=True"):
        sley.Plan(a, 3).set_values(a.data)
    with pytest.raises(sley.SleyUnsupportedError):
        sley.Plan(a, 3, ranks=4, algo="cover", renewable=True)
    plan.close()
    with pytest.raises(sley.SleyArgumentError, match="closed"):
        plan.set_values(a.data)
