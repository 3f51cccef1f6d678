#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the charts of docs/PERFORMANCE.md from the results by gnuplot: bench/plots.py bench/results docs/img"""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "gpu"))
sys.path.insert(1, HERE)
import growth_tables  # noqa: E402
import tables  # noqa: E402

HEAD = """set terminal svg size 900,380 font "sans,13" background "white"
set output "%s"
set title "%s"
set ylabel "%s"
set style data histogram
set style histogram cluster gap 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set grid ytics
set xtics rotate by -30 noenhanced
set key outside top center horizontal noenhanced
%s
$data << EOD
%s
EOD
plot %s
"""


def bars(path, title, unit, names, rows, more="set yrange [0:*]"):
    """rows: a label and a value for each name, or None."""
    data = "\n".join('"%s" %s' % (row[0], " ".join("NaN" if v is None else f"{v:.6g}" for v in row[1:])) for row in rows)
    plots = ", ".join(f'$data using {i + 2}:xtic(1) title "{name}"' for i, name in enumerate(names))
    subprocess.run(["gnuplot", "-d", "-"], input=HEAD % (path, title, unit, more, data, plots), text=True, check=True)


def local(results, folder):
    with open(os.path.join(results, "cpu", "spmm_local.json")) as stream:
        found = json.load(stream)["rows"]
    rows = [[os.path.basename(r["matrix"]).split(".mtx")[0].split(".txt")[0].split(".graph")[0].split(":scale")[0], r["ratio"]["mkl"], r["ratio"]["scipy"]]
            for r in found if r["k"] == 128]
    bars(os.path.join(folder, "local.svg"), "Product on two cores, k = 128: times the speed of MKL and of scipy", "times",
         ["MKL", "scipy"], rows, "set yrange [0:*]\nset arrow from graph 0, first 1 to graph 1, first 1 nohead")


def slow_links(results, folder):
    with open(os.path.join(results, "cpu", "hosts.json")) as stream:
        found = json.load(stream)["rows"]
    matrices = sorted({r["matrix"] for r in found})
    algos = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover", "bcast-1d", "bcast-1.5d", "summa-2d"]
    ms = {(r["matrix"], r["algo"]): r["ms"] for r in found}
    bars(os.path.join(folder, "links.svg"), "4 hosts x 2 ranks, links of 1 Gbit/s, k = 128: time of a product", "ms",
         matrices, [[a] + [ms.get((m, a)) for m in matrices] for a in algos],
         "set logscale y\nset yrange [10:*]")


def gpus(results, folder):
    rows = {}
    for path in sorted(glob.glob(os.path.join(results, "gpu-*", "ranks_gpu.jsonl"))):
        for r in tables.load(os.path.dirname(path))["ranks"]:
            if r["gpus"] == 4 and r["x_cola"]:
                rows[f"{r['matrix']} k={r['k']}"] = [r["x_broadcast"], r["x_cola"]]
    bars(os.path.join(folder, "gpus.svg"), "Four H200s: times the speed of CoLa, and of NCCL broadcasts with cuSPARSE", "times",
         ["NCCL broadcasts", "CoLa"], [[name] + values for name, values in rows.items()],
         "set yrange [0:*]\nset arrow from graph 0, first 1 to graph 1, first 1 nohead")


LINES = """set terminal svg size 900,%d font "sans,13" background "white"
set output "%s"
set multiplot layout %d,2
set logscale xy
set format "10^{%%T}"
set grid
set key top left reverse Left
set xlabel "entries of A"
set ylabel "ms, k = 32"
set autoscale xfix
%s
"""


def growth(results, folder):
    """A chart for each machine and family: times against entries."""
    files = growth_tables.files(results)
    if not files:
        return
    charts = []
    for path in files:
        machine, lines = growth_tables.read(path)
        where = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
        for family, text in growth_tables.FAMILIES.items():
            cases = growth_tables.growth_cases(lines, family, 32)
            names = ["plan", "product"] + (["reading rows of X alone"] if any("gather_ms" in r for r in cases) else [])
            rows = "\n".join(" ".join([str(r["nnz"])] + [f"{growth_tables.QUANTITIES[n](r):.6g}" for n in names]) for r in cases)
            block = f"$data{len(charts)} << EOD\n{rows}\nEOD\n"
            last = cases[-1]
            line = f"{growth_tables.QUANTITIES['product'](last) / last['nnz']:.6g} * x"
            plots = [f"$data{len(charts)} using 1:{i + 2} with linespoints lw 2 title \"{n}\"" for i, n in enumerate(names)]
            plots.append(f"{line} with lines dt 2 lc rgb \"gray\" title \"in proportion\"")
            charts.append((block, f"set title \"{where}: {text}\" noenhanced font \",11\"\nplot " + ", ".join(plots)))
    rows = len(charts) // 2
    script = LINES % (340 * rows, os.path.join(folder, "growth.svg"), rows, "".join(block for block, _ in charts))
    script += "\n".join(plot for _, plot in charts) + "\nunset multiplot\n"
    subprocess.run(["gnuplot", "-d", "-"], input=script, text=True, check=True)


def main():
    results, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    local(results, folder)
    slow_links(results, folder)
    gpus(results, folder)
    growth(results, folder)


if __name__ == "__main__":
    main()
