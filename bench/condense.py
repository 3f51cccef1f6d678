#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Condenses a benchmark on drawn cases to the figures that tables need.

RESULT is the JSON of spmm_local.py, or the JSON lines of bench_spmm_gpu with one type of values, whose cases draw.py has drawn
with --seed. MACHINE is the output of bench/machine.py; --commit names the commit that was measured, if it differs from
MACHINE's. OUT receives the machine, the type, the seed, and for each case Sley's time and the time of MKL or of the
fastest of cuSPARSE's products. Cases
without a rival are left out."""
import json
import os

import common
from tables import read_lines


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


def main():
    parser = common.Parser(__doc__)
    for name in ("machine", "result", "out"):
        parser.add_argument(name)
    parser.add("--seed", None, type=int)
    parser.add("--commit")
    o = parser.parse_args()
    machine, lines = common.load(o.machine), read_lines(o.result)
    if lines and "record" in lines[0]:
        cases = list(of_spmm_gpu(lines))
        dtypes = {case["dtype"] for case, *_ in cases}
        if len(dtypes) != 1:
            raise common.Failed(f"{o.result} has {len(dtypes)} types of values; one is needed: name one by --dtype")
        dtype = dtypes.pop()
    else:
        result = common.load(o.result)
        cases, dtype = list(of_spmm_local(result)), result["dtype"]
    rows = [json.dumps({"matrix": os.path.basename(case["matrix"]), "rows": case["rows"], "nnz": case["nnz"], "k": case["k"],
                        "sley_ms": round(ours, 6), "rival": rival, "rival_ms": round(theirs, 6)}) for case, ours, rival, theirs in cases]
    head = json.dumps({"machine": {**machine, **({"commit": o.commit} if o.commit else {})}, "dtype": dtype, "seed": o.seed})
    with open(o.out, "w", encoding="utf-8") as stream:
        stream.write(head[:-1] + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n")


if __name__ == "__main__":
    common.start(main)
