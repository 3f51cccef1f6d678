#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of the command, in turns, on cases drawn from a seed: their times, and the bits of their results.

    bench/old_new.py OLD NEW [--device cpu|cuda] [--ranks 1 2] [--cases N] [--rounds N] [--seed S] [--json FILE]

OLD and NEW are the paths of two commands `sley`; the libraries and modules beside each are used. Each case runs in both, ROUNDS
times in alternating order, and the time of a build is the median of its runs' medians. Prints for each operation and number of
ranks: the geometric mean and the worst of new / old, the spread between rounds, and in how many cases the bits are equal."""
import hashlib
import os
import random
import statistics
import sys
import tempfile

import common


def drawn_matrix(draw, large):
    rows = draw.randrange(20_000, 2_000_000 if large else 200_000)
    entries = rows * draw.choice((2, 6, 12, 20))
    return draw.choice((
        f"rmat:scale={rows.bit_length() - 1},edgefactor={entries // rows},shuffle,seed={draw.randrange(10**6)}",
        f"er:n={rows},nnz={entries},seed={draw.randrange(10**6)}",
        f"band:n={rows},width={draw.randrange(3, 25)}",
        f"twin:{draw.choice(('cyt', 'clj', 'slj'))}:scale={draw.choice((0.1, 0.2)) * (3 if large else 1):.2g}"))


def median_ms(found):
    return found["time_ms"]["median"] if "time_ms" in found else found["ms"]


def spmm(draw, ranks, large):
    k = draw.choice((1, 7, 16, 32, 40, 64, 100, 128))
    return ["spmm", drawn_matrix(draw, large), "--k", str(k), "--dtype", draw.choice(("f32", "f64", "f16")), "--algo",
            draw.choice(("halo", "cover", "bcast-1d") if ranks > 1 else ("halo",)), "--repeat", "11", "--no-verify"], median_ms, ".npy"


def spgemm(draw, _ranks, large):
    scale = draw.randrange(13, 18 if large else 15)
    return ["spgemm", f"rmat:scale={scale},edgefactor={draw.choice((2, 4, 8))},seed={draw.randrange(10**6)}", "--repeat", "5"], median_ms, ".mtx"


def gnn(draw, _ranks, large):
    return (["gnn", "bench", drawn_matrix(draw, large), "--undirected", "--model", draw.choice(("gcn", "gin", "sage", "gat")), "--hidden",
             draw.choice(("16", "64"))], lambda found: found["models"][0]["step_ms"], None)


def collective(draw, _ranks, large):
    return (["collective", draw.choice(("allreduce", "allgather", "reducescatter")), "--bytes", draw.choice(("1M", "8M", "64M") if large else ("1M", "4M")),
             "--zeros", draw.choice(("0.9", "0.99", "0.999"))], lambda found: found["cases"][0]["time_us"] / 1e3, None)


OPERATIONS = {"spmm": (spmm, 8), "spgemm": (spgemm, 2), "gnn": (gnn, 2), "collective": (collective, 2)}  # drawing function, share of cases


def run(command, words, time_of, ending, folder):
    """Runs a build with its own library and modules. Returns the time in ms and the hash of the result (None if there is none)."""
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(command))), "src")
    path = os.environ.get("LD_LIBRARY_PATH")
    out = os.path.join(folder, "out" + (ending or ""))
    found = common.sley(command, *words, *(["--out", out] if ending else []), timeout=300, SLEY_MODULE_PATH=library,
                        LD_LIBRARY_PATH=library + (":" + path if path else ""))
    digest = None
    if ending:
        with open(out, "rb") as stream:
            digest = hashlib.sha256(stream.read()).hexdigest()
    return time_of(found), digest


def measure(arguments, words, time_of, ending, folder):
    """One case: medians of both builds, the spread between rounds, whether the bits are equal."""
    times, digests = {"old": [], "new": []}, set()
    for at in range(arguments.rounds):
        for name in ("old", "new") if at % 2 == 0 else ("new", "old"):
            ms, digest = run(getattr(arguments, name), words, time_of, ending, folder)
            times[name].append(ms)
            digests.add(digest)
    old, new = (statistics.median(times[name]) for name in ("old", "new"))
    return {"words": words, "old_ms": old, "new_ms": new, "ratio": new / old, "best_ratio": min(times["new"]) / min(times["old"]),
            "spread": max(max(t) / min(t) for t in times.values()), "same_bits": len(digests) == 1 if ending else None}


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add("--device", "cpu")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add("--cases", 28, "per number of ranks")
    parser.add("--rounds", 3)
    parser.add("--seed", random.SystemRandom().randrange(10**9))
    parser.add_argument("--operations", nargs="+", default=list(OPERATIONS), choices=list(OPERATIONS))
    parser.add("--json")
    arguments = parser.parse_args()
    parser.check(arguments, cases=1, rounds=1)
    print(f"seed {arguments.seed}, device {arguments.device}")
    cases, failed = [], 0
    shares = sum(OPERATIONS[name][1] for name in arguments.operations)
    with tempfile.TemporaryDirectory() as folder:
        for ranks in arguments.ranks:
            for name in arguments.operations:
                draw_case, share = OPERATIONS[name]
                draw = random.Random(f"{arguments.seed} {name} {ranks}")
                if (name == "collective" and ranks == 1) or (name == "spgemm" and ranks > 1):
                    continue
                done = []
                for _ in range(max(1, arguments.cases * share // shares)):
                    words, time_of, ending = draw_case(draw, ranks, arguments.device != "cpu")
                    words += ["--ranks", str(ranks), "--device", arguments.device]
                    try:
                        done.append({"operation": name, "ranks": ranks, **measure(arguments, words, time_of, ending, folder)})
                    except common.Failed as error:
                        failed += 1
                        print(f"not measured: sley {' '.join(words)}: {error}", file=sys.stderr)
                cases += done
                if not done:
                    continue
                ratios = [case["ratio"] for case in done]
                bits = [case["same_bits"] for case in done if case["same_bits"] is not None]
                print(f"{name:10} {ranks} ranks, {len(done):3} cases: new / old geomean {statistics.geometric_mean(ratios):.3f} (of best times "
                      f"{statistics.geometric_mean(case['best_ratio'] for case in done):.3f}), worst {max(ratios):.3f}, "
                      f"median spread of rounds {statistics.median(case['spread'] for case in done):.2f}"
                      + (f", same bits {sum(bits)} of {len(bits)}" if bits else ""), flush=True)
    common.save(arguments.json, {"seed": arguments.seed, "device": arguments.device, "rounds": arguments.rounds, "cases": cases},
                "cpu" if arguments.device == "cpu" else "cuda")
    return 1 if failed or any(case["same_bits"] is False for case in cases) else 0


if __name__ == "__main__":
    common.start(main)
