#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Condenses a benchmark on drawn cases to the figures that tables need: bench/condense.py MACHINE RESULT OUT [--seed N]
[--commit C].

RESULT is the JSON of spmm_local.py, or the JSON lines of bench_spmm_gpu with one type of values, whose cases draw.py has drawn
with seed N. MACHINE is the output of bench/machine.py or bench/gpu/machine.py, C the commit that was measured, if it
differs from MACHINE's. OUT receives the machine, the type, the seed, and for each case Sley's time and the time of MKL or of the
fastest of cuSPARSE's products. Cases without a rival are left out."""
import argparse
import json
import os


def of_spmm_local(result):
    """The cases of spmm_local.py."""
    for case in result["rows"]:
        if "mkl" in case["median_ms"]:
            yield case, case["median_ms"]["sley"], "mkl", case["median_ms"]["mkl"]


def of_spmm_gpu(lines):
    """The cases of bench_spmm_gpu."""
    for case in lines:
        if case["record"] == "case" and "ratio" in case:
            best = "cusparse_" + case["best"]
            yield case, case["sley"]["ms"]["median"], best, case[best]["ms"]["median"]


def read(path):
    """Returns cases and type."""
    with open(path) as stream:
        text = stream.read()
    if '"record"' not in text[:200]:
        result = json.loads(text)
        return list(of_spmm_local(result)), result["dtype"]
    lines = [json.loads(line) for line in text.splitlines()]
    cases = list(of_spmm_gpu(lines))
    dtypes = {case["dtype"] for case, *_ in cases}
    if len(dtypes) != 1:
        raise SystemExit(f"condense.py: {path} has {len(dtypes)} types of values; one is needed: name one by --dtype")
    return cases, dtypes.pop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("result")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--commit")
    options = parser.parse_args()
    with open(options.machine) as stream:
        machine = json.load(stream)
    cases, dtype = read(options.result)
    if options.commit:
        machine["commit"] = options.commit
    lines = [json.dumps({"matrix": os.path.basename(case["matrix"]), "rows": case["rows"], "nnz": case["nnz"], "k": case["k"],
                         "sley_ms": round(ours, 6), "rival": rival, "rival_ms": round(theirs, 6)})
             for case, ours, rival, theirs in cases]
    head = json.dumps({"machine": machine, "dtype": dtype, "seed": options.seed})
    with open(options.out, "w") as stream:
        stream.write(head[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n")


main()
