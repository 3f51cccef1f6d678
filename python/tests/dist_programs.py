# SPDX-License-Identifier: Apache-2.0
"""What the ranks of test_dist.py do, one function for each test: `dist_programs.py NAME [ARGUMENT]`."""
import gc
import os
import signal
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.sparse
from support import assert_product, dense_of, drawn

import sley
import sley.dist

A = drawn(230, 230, 3000, 5)
X = np.random.default_rng(5).uniform(-1, 1, (230, 6))


def check_products(comm: sley.dist.Comm) -> None:
    """Products, transposed ones and samples of this rank's rows, of a matrix that each rank has all of."""
    for algo in ("auto", "halo", "cover", "summa-2d", "halo-pipelined"):
        with sley.Plan(A, 6, comm=comm, algo=algo) as plan:
            assert plan.shape == (230, 230) and len(plan.describe()) == 1
            y = plan(X[plan.cols])
            assert_product(y, dense_of(A)[plan.rows], X, "float64")
            assert plan.counted() == plan.info.predicted
            assert len(plan.table(["halo", "cover"])) == 2
            with plan.transpose() as transposed:
                assert_product(transposed(X[transposed.cols]), dense_of(A).T[transposed.rows], X, "float64")
    y = sley.spmm(A, X[plan.cols], comm=comm)
    assert_product(y, dense_of(A)[plan.rows], X, "float64")
    s = sley.sddmm(A, X[plan.rows], X[plan.cols], comm=comm)
    wanted = scipy.sparse.csr_array(A.multiply(X @ X.T))[plan.rows]
    assert s.shape == wanted.shape and abs(s - wanted).max() < 1e-14


def check_fork(comm: sley.dist.Comm, leave: Callable[[], object] = sys.exit) -> None:
    """A forked child is no rank: what it asks of its parent's is refused, and it ends as programs do."""
    with sley.Plan(A, 6, comm=comm) as plan:
        before = plan(X[plan.cols])
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            for job in (lambda: plan(X[plan.cols]), comm.barrier, lambda: comm.allreduce([1]),
                        lambda: sley.spmm(A, X[plan.cols], comm=comm)):
                try:
                    job()
                except sley.SleyArgumentError:
                    continue
                os._exit(1)
            assert np.allclose(sley.spmm(A, X), A @ X)
            sley.dist.shutdown()
            leave()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert np.array_equal(plan(X[plan.cols]), before)


def products() -> None:
    comm = sley.dist.init()
    assert (comm.rank, comm.size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    assert comm.allreduce([comm.rank, 1]).tolist() == [sum(range(comm.size)), comm.size]
    assert comm.allreduce(comm.rank, "max") == comm.size - 1
    comm.barrier()
    check_products(comm)
    check_fork(comm)
    assert repr(comm).startswith(f"<sley.dist.Comm, rank {comm.rank} of {comm.size}, cpu, tcp")
    sley.dist.shutdown()
    sley.dist.shutdown()
    assert comm.closed
    print("done")


def tiles() -> None:
    """A rank reads and replaces tiles of others, which wait; matrices are given whole and as rows."""
    comm = sley.dist.init()
    begin = [230 * rank // comm.size for rank in range(comm.size + 1)]
    own = sley.dist.rows(comm, A[begin[comm.rank] : begin[comm.rank + 1]])
    for given in (A, own):
        with sley.TiledMatrix(given, comm=comm, tiles=(5, 3)) as t:
            for i, j in ((comm.rank, 0), (4, 2), (0, 1)):
                later = t.get_tile_later(i, j)
                info = t.tile_info(i, j)
                wanted = dense_of(A)[info.first_row : info.first_row + info.rows,
                                     info.first_col : info.first_col + info.cols]
                assert np.array_equal(dense_of(later.result().to_scipy()), wanted)
            comm.barrier()
            if comm.rank == 0:
                t.put_tile(4, 2, 2 * t.get_tile(4, 2).data)
            comm.barrier()
            assert np.array_equal(dense_of(t.get_tile(4, 2).to_scipy()), 2 * dense_of(A)[184:, 154:])
            comm.barrier()
            t.renew(given)
            assert np.array_equal(dense_of(t.gather().to_scipy()), dense_of(A)[t.rows])
            with sley.spmm(t, X, algo="tile-a") as y:
                assert_product(y.gather(), dense_of(A)[y.rows], X, "float64")
                assert len(y.reports) == 1
    c = sley.spgemm(own, A, comm=comm)
    assert np.allclose(dense_of(c.to_scipy()), (A @ A).toarray()[begin[comm.rank] : begin[comm.rank + 1]])
    kept = sley.TiledMatrix(X, comm=comm)  # what is still there at the end
    kept.get_tile_later(0, 0)
    sley.dist.shutdown()
    assert kept.closed
    print("done")


def sparse(comm: sley.dist.Comm, rank: int, size: int, share: float) -> npt.NDArray[np.float32]:
    random = np.random.default_rng(rank)
    return np.where(random.uniform(size=size) < share, random.integers(-9, 9, size), 0).astype(np.float32)


def collectives() -> None:
    """Sums by hand, of whole numbers: compressed or not, in place, of each kind; what is told of a run, and refused."""
    comm = sley.dist.init()
    size, rank, n = comm.size, comm.rank, 5000
    all_ranks = [sparse(comm, r, n, 0.02) for r in range(size)]
    counts = [n // size + (r == 0) * (n % size) for r in range(size)]
    begin = np.concatenate(([0], np.cumsum(counts)))
    for compress in ("none", "auto", "pici", "coo"):
        own = all_ranks[rank].copy()
        with sley.dist.Collective(comm, "allreduce", n, compress=compress) as total:
            assert total.info.path == "" and total.info.sent == 0
            assert np.array_equal(total(own), sum(all_ranks)) and total(own.reshape(50, -1)).shape == (50, n // 50)
            assert total(own, out=own) is own and np.array_equal(own, sum(all_ranks))
            info = total.info
            assert info.path and info.reason and info.dense + info.pici + info.coo == info.arrays
            total(all_ranks[rank])
            assert size == 1 or compress not in ("pici", "coo") or total.info.sent < total.info.dense_sent / 3
        assert total.closed and repr(total).endswith("closed>")
        with sley.dist.Collective(comm, "reducescatter", counts, compress=compress) as part:
            assert np.array_equal(part(all_ranks[rank]), sum(all_ranks)[begin[rank] : begin[rank + 1]])
        with sley.dist.Collective(comm, "allgather", counts, np.float32, compress=compress) as whole:
            assert np.array_equal(whole(all_ranks[0][begin[rank] : begin[rank + 1]]), all_ranks[0])
        for dtype in (np.int8, np.uint8):
            few = all_ranks[0].astype(np.int8).view(dtype)
            with sley.dist.Collective(comm, "allgather", counts, dtype, compress=compress) as narrow:
                assert np.array_equal(narrow(few[begin[rank] : begin[rank + 1]]), few)
    with sley.dist.Collective(comm, "allreduce", 3, np.int64, op="max") as most:
        assert most([rank, -rank, 7]).tolist() == [size - 1, 0, 7]
        for wrong in ([1, 2], [1.0, 2.0, 3.0]):
            assert refused(lambda wrong=wrong: most(wrong), "src has")
        assert refused(lambda: most([1, 2, 3], out=np.zeros(6, np.int64)[::2]), "follow each other")
        assert refused(lambda: most([1, 2, 3], out=np.zeros(3)), "out has")
    assert refused(lambda: most([1, 2, 3]), "closed")
    assert refused(lambda: sley.dist.Collective(comm, "broadcast", 3), "allreduce, reducescatter, allgather")
    assert refused(lambda: sley.dist.Collective(comm, "allreduce", 3, compress="zip"), "none, auto, pici, coo")
    assert refused(lambda: sley.dist.Collective(comm, "allreduce", 3, np.uint8), "gathered but not reduced")
    with sley.dist.Collective(comm, "allreduce", n, compress="pici", way="ring", dense_above=(0, 0, 1)) as bounded:
        assert np.array_equal(bounded(all_ranks[rank]), sum(all_ranks))
        info = bounded.info
        assert (info.inter + info.intra, info.inter_dense + info.intra_dense) == (size - 1, size - 1)
        assert (info.allgather, info.allgather_dense) == (int(size > 1), 0)
    for wrong in (2, (0.5, 0.5), (0.5, -0.5, 0.5)):
        assert refused(lambda above=wrong: sley.dist.Collective(comm, "allreduce", 3, dense_above=above), "inter, intra")
    assert refused(lambda: sley.dist.Collective(comm, "allreduce", [3] * size), "give one number")
    assert refused(lambda: sley.dist.Collective(comm, "allgather", [3] * (size + 1)), "one for each of")
    sley.dist.shutdown()
    print("done")


def refused(call: Callable[[], object], words: str) -> bool:
    try:
        call()
    except sley.SleyArgumentError as error:
        return words in str(error)
    return False


def own_rows(path: str) -> None:
    """Matrices that no rank has all of."""
    comm = sley.dist.init()
    read = sley.dist.read(comm, path)
    begin = sley.partition(A, comm.size, by="rows")
    given = sley.dist.rows(comm, A[begin[comm.rank] : begin[comm.rank + 1]])
    assert given.row_begin.tolist() == begin.tolist()
    made = sley.dist.read(comm, "er:n=230,nnz=900", dtype="float32", by="rows")
    assert made.dtype == np.float32 and comm.allreduce(made.matrix.nnz) == 900
    for each in (read, given):
        assert each.shape == A.shape
        with sley.Plan(each, 6, comm=comm) as plan:
            assert_product(plan(X[plan.cols]), dense_of(A)[plan.rows], X, "float64")
    wide = sley.dist.rows(comm, drawn(7, 50, 60, comm.rank))
    x = np.ones((50, 2))
    with sley.Plan(wide, 2, comm=comm) as plan:
        assert np.allclose(plan(x[plan.cols]), wide.matrix.to_scipy() @ x)
    try:
        sley.Plan(sley.dist.Rows(given.matrix, begin[:-1]), 6, comm=comm)
    except sley.SleyArgumentError as error:
        assert "divided among" in str(error)
    sley.dist.shutdown()
    print("done")


def forgets() -> None:
    """Ranks forget plans at different times, and none waits for another."""
    comm = sley.dist.init()
    for i in range(20):
        plan = sley.Plan(A, 6, comm=comm, algo="halo")
        if (i + comm.rank) % 3 == 0:
            del plan
            gc.collect()
    time.sleep(0.1 * comm.rank)
    check_products(comm)
    sley.dist.shutdown()
    print("done")


def does_not_shut_down() -> None:
    comm = sley.dist.init()
    plan = sley.Plan(A, 6, comm=comm)
    y = plan(X[plan.cols])
    assert y.shape[1] == 6
    print("done")


def one_fails() -> None:
    """The others are told, by name, and soon."""
    comm = sley.dist.init(timeout=20)
    try:
        plan = sley.Plan(A, 6, comm=comm, algo="halo-coalesced")
        if comm.rank == 1:
            os._exit(3)  # the others may still be planning
        while True:
            plan(X[plan.cols])
    except sley.SleyPeerError as error:
        assert error.rank == 1, error
        print("done")
    sley.dist.shutdown()


def two_comms() -> None:
    first, second = sley.dist.init(), sley.dist.init(threads=1)
    check_products(second)
    check_products(first)
    second.shutdown()
    check_products(first)
    sley.dist.shutdown()
    with sley.Plan(A, 6, ranks=3) as plan:  # ranks that are threads have nothing to do with the launcher's
        assert_product(plan(X), dense_of(A), X, "float64")
    print("done")


def mpi() -> None:
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    comm = sley.dist.init(world)
    assert (comm.rank, comm.size, comm.transport) == (world.rank, world.size, "mpi")
    check_products(comm)
    check_fork(comm, lambda: os._exit(0))  # not by mpi4py's own end
    part = sley.dist.init(world.Split(world.rank % 2, -world.rank))
    check_products(part)
    sley.dist.shutdown()
    print("done")


def torch() -> None:
    import torch.distributed as dist
    dist.init_process_group("gloo")
    comm = sley.dist.init(dist.group.WORLD)
    assert (comm.rank, comm.size, comm.transport) == (dist.get_rank(), dist.get_world_size(), "tcp")
    assert os.environ["RANK"] == str(dist.get_rank()) and "SLEY_SECRET" not in os.environ
    check_products(comm)
    odd, even = dist.new_group([1, 2]), dist.new_group([0])
    mine = even if dist.get_rank() == 0 else odd
    part = sley.dist.init(mine)
    assert (part.rank, part.size) == (dist.get_rank(mine), dist.get_world_size(mine))
    check_products(part)
    sley.dist.shutdown()
    dist.destroy_process_group()
    print("done")


def interrupted() -> None:
    comm = sley.dist.init()
    plan = sley.Plan(A, 6, comm=comm, algo="halo-coalesced")
    print("ready", flush=True)
    try:
        while True:
            plan(X[plan.cols])
    except (KeyboardInterrupt, sley.SleyPeerError):
        print("done", flush=True)
    sley.dist.shutdown()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
