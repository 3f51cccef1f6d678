# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts for tables and figures of the RDMA paper: options, matrices, runs of the command, files of results.

The paper: B. Brock, A. Buluc, K. Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024."""
import os
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import paper  # noqa: E402
from paper import common, draw, start  # noqa: E402, F401

RESULTS = paper.results("rdma")
# The paper's matrix of figure 1, with rows and columns each in a random order.
RMAT = "rmat:scale={scale},edgefactor=8,a=0.6,b=0.13333333,c=0.13333333,shuffle=apart"
# The algorithms, with their names in the paper.
NAMES = {"tile-c": "S-C RDMA", "tile-a": "S-A RDMA", "tile-a-steal": "R WS S-A RDMA", "tile-c-steal-local": "LA WS S-C RDMA",
         "tile-a-steal-local": "LA WS S-A RDMA", "tile-b": "S-B RDMA", "tile-summa": "BS SUMMA MPI", "summa-2d": "SUMMA from row blocks"}
NOT_RUN = {"CombBLAS GPU": "not run: CombBLAS is not installed here, and needs GPUs", "PETSc": "not run: PETSc is not installed here"}


def parser_of(doc, name, measures=False):
    """A parser with the options of all scripts; name: of the file of results. measures: also with those of `measure`."""
    parser = paper.parser_of(doc, "rdma", name)
    parser.add("--data", common.DATA, "folder of real matrices, with MANIFEST.tsv")
    if measures:
        parser.add("--rate", "200mbit", "of every host's link, each way")
        parser.add("--repeat", 5, "timed products")
    return parser


def path_of(args, name):
    """A generator's words, or the path of a matrix of the data folder."""
    return name if ":" in name or os.path.exists(name) else os.path.join(args.data, name)


def end(args, what, theirs, differs, **found):
    """Writes the file of results: what was found, the paper's values, what differs, the command and its options."""
    return paper.end(args, what, theirs, differs, **found)


# ---- runs

def parts_of(found):
    """Milliseconds of the parts of a run in tiles, each the mean of the ranks; {} for other algorithms."""
    ranks = found.get("per_rank") or []
    return {name: statistics.fmean(one[name + "_ms"] for one in ranks) for name in ("compute", "communicate", "accumulate", "imbalance") if ranks}


def case_of(whole, found, **more):
    if "impossible" in found:
        return {"algo": found["algo"], "failed": found["impossible"], **more}
    volume = found["volume_bytes"]
    assert found["verify"] and found["verify"]["ok"], f"{found['algo']}: a product was wrong or not checked"
    return {"algo": found["algo"], "ranks": whole["ranks"], **more, "ms": found["time_ms"]["median"], "least_ms": found["time_ms"]["min"],
            "bytes": volume["direct"] + volume["message"], **parts_of(found),
            **{name: found[name] for name in ("flops_imbalance", "stage_imbalance") if name in found}}


def groups_of(algos):
    """The command runs algorithms in tiles and others apart."""
    tiles = [name for name in algos if name.startswith("tile-")]
    return [group for group in (tiles, [name for name in algos if name not in tiles]) if group]


def launch_of(args, ranks, way):
    """Words before the command, and the command's own about its ranks. way: here (threads), links (network namespaces over tcp), mpi
    (ranks of mpirun on this machine, which read tiles in shared memory), windows (the same as if each had a node of its own: tiles
    travel by MPI's one-sided communication)."""
    if way == "links":
        return common.on_hosts(ranks, 1, args.rate), ["--transport", "tcp"]
    return [], ["--ranks", ranks, *(["--transport", "mpi"] if way != "here" else []), *(["--workgroup", 1] if way == "windows" else [])]


def measure(args, matrix, ranks, way, algos, k=0):
    """A case for each algorithm. k 0: C = A A, both sparse."""
    cases = []
    for group in groups_of(algos):
        launch, words = launch_of(args, ranks, way)
        words = ["spmm" if k else "spgemm", path_of(args, matrix), *(["--k", k] if k else ["--verify"]), "--algo", ",".join(group), "--threads", 1,
                 "--device", "cpu", "--dtype", "f32", "--seed", args.seed, "--repeat", args.repeat, "--warmup", 1, *words]
        if not k and group[0].startswith("summa"):
            continue
        try:
            whole = common.sley(args.sley, *words, launch=launch)
        except common.Failed as error:
            cases += [{"algo": name, "ranks": ranks, "matrix": matrix, "k": k, "way": way, "failed": str(error)} for name in group]
            continue
        found = whole.get("algorithms") or [whole]
        cases += [case_of(whole, one, matrix=matrix, k=k, way=way) for one in found]
    for one in cases:
        print(f"{matrix:24.24} {way:6} {ranks:3} ranks k {k:4} {one['algo']:20} " + (one.get("failed") or f"{one['ms']:10.2f} ms {one['bytes'] / common.MIB:9.2f} MiB"),
              flush=True)
    return cases


def roofline(args, matrix, *words):
    return common.sley(args.sley, "roofline", path_of(args, matrix), "--seed", args.seed, "--brief", *words)
