#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of README.md, written between its markers from files below bench/results, so that none is copied by hand:

    bench/readme.py             writes them
    bench/readme.py --check     ends with 1 where README says something else: a test
    bench/readme.py --run SLEY  first runs the commands whose output README shows anew, on this machine; files are looked for in $SLEY_DATA
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "gpu")]
import spgemm_tables  # noqa: E402
import tables  # noqa: E402


def load(name):
    with open(os.path.join(RESULTS, name), encoding="utf-8") as stream:
        return [json.loads(line) for line in stream] if name.endswith(".jsonl") else json.load(stream)


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def row(rival, on, ratios, command, source):
    return f"| {rival} | {on}, {len(ratios)} cases | {geomean(ratios):.2f} times as fast (worst {min(ratios):.2f}) | `{command}` | `{source}` |"


def drawn(rival, name, on, command):
    source = f"drawn/{name}.json"
    return row(rival, on, [c["rival_ms"] / c["sley_ms"] for c in load(source)["cases"]], command, source)


def op(rival, name, what, gpu):
    source = f"ops/{name}.json"
    mean = next(m for m in load(source)["means"] if m["op"] == what)
    return (f"| {rival} | one {gpu}, f32, {mean['cases']} cases | {mean['geomean']:.2f} times as fast (worst {mean['worst']:.2f}) "
            f"| `bench/gpu/ops.py` | `{source}` |")


def sparse(dtype):
    cases = [case for (_, kind), case in spgemm_tables.read_gpu(os.path.join(RESULTS, "spgemm/h100.jsonl"))[2].items() if kind == dtype]
    ratios = [spgemm_tables.best_of(case)["ms"] / case["sley"]["ms"] for case in cases if spgemm_tables.best_of(case)]
    return row("cuSPARSE's fastest sparse x sparse", f"one H100, {dtype}", ratios, "bench/gpu/run.sh spgemm", "spgemm/h100.jsonl")


def speeds():
    """The table of speeds beside others'."""
    fixed = [r[6] for r in tables.spmm_rows(load("gpu-h200-f32/spmm_gpu.jsonl"))]
    local = [r["ratio"]["mkl"] for r in load("cpu/spmm_local.json")["rows"]]
    lines = ["| beside | on | Sley is | command | from `bench/results/` |", "|---|---|---|---|---|",
             row("cuSPARSE's best algorithm, widths that Sley was tuned to", "one H200, f32", fixed, "bench/gpu/run.sh", "gpu-h200-f32/spmm_gpu.jsonl"),
             drawn("the same, cases drawn anew", "h200_f32", "one H200, f32", "bench_spmm_gpu --cases"),
             op("PyG's GATConv, forward and backward", "h200", "gat", "H200"),
             op("turbo-gnn's GATv2, forward and backward", "h100", "gatv2", "H100"),
             op("turbo-gnn's maxima, forward and backward", "h100", "max", "H100"),
             op("cuSPARSE's SDDMM", "h200", "sddmm", "H200"),
             sparse("f32"),
             sparse("f64"),
             row("Intel MKL, widths that Sley was tuned to", "two cores, f32", local, "bench/run.sh", "cpu/spmm_local.json"),
             drawn("Intel MKL, cases drawn anew", "cpu_f32", "two cores, f32", "sley bench")]
    return "\n".join(lines)


def shown(name):
    """A command and what it printed."""
    with open(os.path.join(RESULTS, "readme", name + ".txt"), encoding="utf-8") as stream:
        return "```\n" + stream.read().rstrip("\n") + "\n```"


WHAT = {"speeds": speeds, **{name: (lambda name=name: shown(name)) for name in ("spmm", "crawl", "twin")}}
MARKS = re.compile(r"(<!-- figures: (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)


def run_again(sley):
    for name in ("spmm", "crawl", "twin"):
        path = os.path.join(RESULTS, "readme", name + ".txt")
        with open(path, encoding="utf-8") as stream:
            command = stream.readline().rstrip("\n")
        data = os.environ.get("SLEY_DATA", os.path.join(ROOT, "..", "shared", "data"))
        words = command.removeprefix("$ sley ").split()
        found = subprocess.run([os.path.abspath(sley), *words], check=True, capture_output=True, text=True,
                               cwd=data if os.path.isdir(data) else None)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(command + "\n" + found.stdout.split("\nterms:")[0].rstrip("\n") + "\n")  # the legend is left out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--run", metavar="SLEY")
    options = parser.parse_args()
    if options.run:
        run_again(options.run)
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as stream:
        before = stream.read()
    names = [match[2] for match in MARKS.finditer(before)]
    if sorted(names) != sorted(WHAT):
        sys.exit(f"README.md has the figures {names}, and should have {sorted(WHAT)}")
    after = MARKS.sub(lambda match: match[1] + WHAT[match[2]]() + match[3], before)
    if options.check and after != before:
        sys.exit("README.md says something else than bench/results: run bench/readme.py")
    if after != before:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(after)
    print(f"{len(names)} figures agree with bench/results" if options.check else f"{len(names)} figures written")


main()
