# SPDX-License-Identifier: Apache-2.0
"""The tables of bench/at_once.py, in bench/results/cpu: products without a plan beside SciPy."""
import os

from tables import geomean, load, table

KINDS = {"matrix": "a `sley.Matrix`", "scipy's": "the SciPy matrix"}
CALLS = ("first", "second", "later", "mean")
RATIOS = {"patched": "x, arrays that may change", "read-only": "x, read-only arrays"}


def ratio(row, kind, call):
    """How many times as fast as SciPy a call is; a first one beside SciPy's own first."""
    return row["scipy"]["first" if call == "first" else "later"] / row[kind][call]


def summary(rows):
    """Geometric means and the least of the ratios, of each kind of matrix and call; also of first calls beside SciPy's later
    ones."""
    made = {}
    for kind in KINDS:
        each = {call: [ratio(row, kind, call) for row in rows] for call in CALLS}
        each["first beside later"] = [row["scipy"]["later"] / row[kind]["first"] for row in rows]
        made.update({f"{kind} {call}": {"geomean": geomean(ratios), "least": min(ratios)} for call, ratios in each.items()})
    return made


def report(folder):
    path = os.path.join(folder, "at_once.json")
    if not os.path.exists(path):
        return
    run = load(path)
    facts = run["machine"]
    print("## Products without a plan beside SciPy\n")
    print(f"`bench/at_once.py --solvers --seed {run['seed']} --rounds {run['rounds']}`: {facts['processor']}, {facts['cores']} cores; commit "
          f"{facts['commit']}; numpy {facts['numpy']}, scipy {facts['scipy']}; load average before the run {run['load']:.2f}. "
          "How many times as fast as SciPy: the first product of a new matrix after a pause of 2 ms, beside SciPy's own first; the second, the "
          "median of later ones, and the mean of the second and the next 19, beside the median of SciPy's.\n")
    made = summary(run["rows"])
    table(["given", "", *CALLS, "first beside SciPy's later"],
          [[name if what == "geomean" else "", {"geomean": "geometric mean", "least": "least"}[what]]
           + [f"{made[f'{kind} {call}'][what]:.2f}" for call in (*CALLS, "first beside later")]
           for kind, name in KINDS.items() for what in ("geomean", "least")])
    print()
    table(["matrix", "type", "nonzeros", "k", "SciPy ms"] + [f"{name}: {call}" for name in ("Matrix", "SciPy's") for call in CALLS],
          [[row["name"], row["dtype"], row["nnz"], row["k"], f"{row['scipy']['later']:.3f}"]
           + [f"{ratio(row, kind, call):.2f}" for kind in KINDS for call in CALLS] for row in run["rows"]])
    if run["solvers"]:
        print("### Solvers of SciPy with `patch_scipy`\n")
        print("50 steps each of power iteration, cg, and lobpcg with 8 vectors, on a symmetric matrix of the pattern of A + A^T, of A^T A if A "
              "is not square.\n")
        table(["matrix", "type", "solver", "SciPy ms", *RATIOS.values()],
              [[row["name"], row["dtype"], row["solver"], f"{row['scipy_ms']:.1f}"]
               + [f"{row['scipy_ms'] / row[f'{each}_ms']:.2f}" for each in RATIOS] for row in run["solvers"]])
