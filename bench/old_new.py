#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of the command, in turns, on cases drawn from a seed: their times, and the bits of their results.

    bench/old_new.py OLD NEW [--device cpu|cuda] [--ranks 1 2] [--cases N] [--rounds N] [--seed S] [--json FILE]

OLD and NEW are the paths of two commands `sley`; the libraries and modules beside each are used. Each case runs in both, ROUNDS
times in alternating order, and the time of a build is the median of its runs' medians. Prints for each operation and number of
ranks: the geometric mean and the worst of new / old, the spread between rounds, and in how many cases the bits are equal.
Exit status 1 if a case failed or bits differ."""
import hashlib
import os
import random
import statistics
import sys
import tempfile

import common
from tables import geomean

PRODUCTS = 8  # SpMM has so many cases where other operations have 2


def drawn_matrix(draw, most_rows):
    rows, per_row = draw.randrange(20_000, most_rows), draw.choice((2, 6, 12, 20))
    return draw.choice((f"rmat:scale={rows.bit_length() - 1},edgefactor={per_row},shuffle,seed={draw.randrange(10**6)}",
                        f"er:n={rows},nnz={rows * per_row},seed={draw.randrange(10**6)}", f"band:n={rows},width={draw.randrange(3, 25)}",
                        f"twin:{draw.choice(('cyt', 'clj', 'slj'))}:scale={draw.choice((0.1, 0.2))}"))


# Each returns the words, the matrix among them first, the file that receives the result, and a function of the report: its ms.

def spmm(draw, ranks, most_rows):
    k, algo = draw.choice((1, 7, 16, 32, 40, 64, 100, 128)), draw.choice(("halo", "cover", "bcast-1d") if ranks > 1 else ("halo",))
    words = ["--k", k, "--dtype", draw.choice(("f32", "f64", "f16")), "--algo", algo, "--repeat", 11, "--no-verify"]
    return ["spmm"], drawn_matrix(draw, most_rows), words, "y.npy", lambda report: report["time_ms"]["median"]


def spgemm(draw, _ranks, most_rows):
    scale = draw.randrange(11, max(13, (most_rows // 16).bit_length()))
    matrix = f"rmat:scale={scale},edgefactor={draw.choice((2, 4, 8))},seed={draw.randrange(10**6)}"
    return ["spgemm"], matrix, ["--repeat", 7], "c.npz", lambda report: report["time_ms"]["median"]


def gnn(draw, _ranks, most_rows):
    words = ["--undirected", "--model", draw.choice(("gcn", "gin", "sage", "gat")), "--hidden", draw.choice((16, 64))]
    return ["gnn", "bench"], drawn_matrix(draw, most_rows), words, None, lambda report: report["models"][0]["step_ms"]


def collective(draw, _ranks, _most_rows):
    words = ["--bytes", draw.choice(("1M", "8M", "64M")), "--zeros", draw.choice((0.9, 0.99, 0.999))]
    return ["collective", draw.choice(("allreduce", "allgather", "reducescatter"))], None, words, None, lambda report: report["cases"][0]["time_us"] / 1e3


OPERATIONS = {"spmm": spmm, "spgemm": spgemm, "gnn": gnn, "collective": collective}


def of_build(command):
    """Environment in which a command uses the library and the modules of its own build."""
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(command))), "src")
    path = os.environ.get("LD_LIBRARY_PATH")
    return {"SLEY_MODULE_PATH": library, "LD_LIBRARY_PATH": library + (":" + path if path else "")}


def measure(o, words, out, ms_of, folder):
    """One case: the times of both builds, the spread between rounds, whether the bits are equal (None if no result is written)."""
    times, digests, path = {"old": [], "new": []}, set(), os.path.join(folder, out or "")
    for at in range(o.rounds):
        for build in ("old", "new") if at % 2 == 0 else ("new", "old"):
            command = getattr(o, build)
            times[build].append(ms_of(common.sley(command, *words, *(["--out", path] if out else []), timeout=300, **of_build(command))))
            if out:
                with open(path, "rb") as stream:
                    digests.add(hashlib.sha256(stream.read()).hexdigest())
    old, new = statistics.median(times["old"]), statistics.median(times["new"])
    return {"old_ms": old, "new_ms": new, "ratio": new / old, "best_ratio": min(times["new"]) / min(times["old"]),
            "spread": max(max(each) / min(each) for each in times.values()), "same_bits": len(digests) == 1 if out else None}


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add("--device", "cpu")
    parser.add("--ranks", [1, 2], nargs="+", type=int)
    parser.add("--cases", 28, "for each number of ranks")
    parser.add("--rows", 400_000, "drawn matrices have fewer rows")
    parser.add("--rounds", 3)
    parser.add("--seed", random.SystemRandom().randrange(10**9))
    parser.add("--operations", list(OPERATIONS), nargs="+", type=str, choices=list(OPERATIONS))
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o, cases=1, rounds=1, rows=20_001)
    print(f"seed {o.seed}, device {o.device}")
    cases, failed = [], 0
    shares = {name: PRODUCTS if name == "spmm" else 2 for name in o.operations}
    for ranks in o.ranks:
        for name in o.operations:
            if (name == "collective" and ranks == 1) or (name == "spgemm" and ranks > 1):
                continue
            draw, done = random.Random(f"{o.seed} {name} {ranks}"), []
            for _ in range(max(1, o.cases * shares[name] // sum(shares.values()))):
                verb, matrix, words, out, ms_of = OPERATIONS[name](draw, ranks, o.rows)
                words += ["--ranks", ranks, "--device", o.device]
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        file = [common.cached(o.new, matrix, folder)] if matrix else []
                        one = measure(o, [*verb, *file, *words], out, ms_of, folder)
                        done.append({"operation": name, "ranks": ranks, "matrix": matrix, "words": " ".join(map(str, words)), **one})
                    except common.Failed as error:
                        failed += 1
                        print(f"not measured: {name} {matrix or ''} {' '.join(map(str, words))}: {error}", file=sys.stderr)
            cases += done
            if done:
                bits = [case["same_bits"] for case in done if case["same_bits"] is not None]
                print(f"{name:10} {ranks} ranks, {len(done):3} cases: new / old geomean {geomean([case['ratio'] for case in done]):.3f} (of best times "
                      f"{geomean([case['best_ratio'] for case in done]):.3f}), worst {max(case['ratio'] for case in done):.3f}, median spread of rounds "
                      f"{statistics.median(case['spread'] for case in done):.2f}" + (f", same bits {sum(bits)} of {len(bits)}" if bits else ""), flush=True)
            common.save(o.json, {"seed": o.seed, "rounds": o.rounds, "cases": cases}, o.device)
    return 1 if failed or any(case["same_bits"] is False for case in cases) else 0


if __name__ == "__main__":
    common.start(main)
