# SPDX-License-Identifier: Apache-2.0
"""Results of bench/growth.py as exponents and tables."""
import math
import os

import pictures
from tables import geomean, read_lines, table

FAMILIES = {"band": "band, 17 entries a row", "er": "random columns, 16 entries a row"}
MOST_PRODUCTS, MOST_MEMORY, MOST_EXPONENT = 25, 1.5, 1.1


def read(path):
    """The machine's line and the others."""
    lines = read_lines(path)
    machine = next((r for r in lines if r["record"] == "machine"), {})
    return machine, [r for r in lines if r["record"] != "machine"]


def exponent(points):
    """s of y = c x^s, by least squares on logarithms."""
    points = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    if len(points) < 2:
        return None
    mx, my = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    return sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)


def memory(r):
    """Memory of the plan beyond the matrix: the host's at the peak, and a GPU's where it is greatest."""
    return max(r["peak_bytes"], r["device_bytes"])


QUANTITIES = {"plan": lambda r: r["plan_ms"]["least"], "product": lambda r: r["product_ms"]["least"],
              "reading rows of X alone": lambda r: r.get("gather_ms", 0), "memory": lambda r: r["csr_bytes"] + memory(r)}


def growth_cases(lines, family, k):
    return sorted((r for r in lines if r["record"] == "growth" and r["family"] == family and r["k"] == k), key=lambda r: r["nnz"])


def fit_rows(lines):
    """Family, k, from, to, the exponent of each quantity: over all sizes, and over those beyond the caches."""
    out = []
    for family, text in FAMILIES.items():
        for k in sorted({r["k"] for r in lines}):
            for least in (0, 0.9e6):
                cases = [r for r in growth_cases(lines, family, k) if r["nnz"] >= least]
                if len(cases) < 3:
                    continue
                found = [exponent([(r["nnz"], value(r)) for r in cases]) for value in QUANTITIES.values()]
                out.append([text, k, f"{cases[0]['nnz']:.0e} to {cases[-1]['nnz']:.0e}".replace("e+0", "e")]
                           + ["" if s is None else f"{s:.2f}" for s in found])
    return out


FIT_HEAD = ["matrix", "k", "entries"] + [f"s of {name}" for name in QUANTITIES]


def size_rows(lines, k=32):
    """For each size: times, inspection in products, memory relative to the matrix's."""
    out = []
    for family, text in FAMILIES.items():
        for r in growth_cases(lines, family, k):
            plan, product = r["plan_ms"]["least"], r["product_ms"]["least"]
            gather = r.get("gather_ms")
            out.append([text, f"{r['nnz']:.3g}", f"{plan:.3f}", f"{product:.3f}", "" if gather is None else f"{gather:.3f}",
                        f"{plan / product:.1f}", f"{memory(r) / r['csr_bytes']:.2f}", f"{r['system_peak_bytes'] / r['csr_bytes']:.2f}"])
    return out


SIZE_HEAD = ["matrix", "entries", "plan ms", "product ms", "rows of X alone ms", "inspection in products", "plan's memory / CSR",
             "process's peak / CSR"]


def inspection_rows(lines):
    """Generated matrices: for each family and width the inspection in products, over all sizes."""
    out = []
    for family, text in FAMILIES.items():
        for k in sorted({r["k"] for r in lines}):
            cases = growth_cases(lines, family, k)
            if not cases:
                continue
            products = [(r["plan_ms"]["least"] / r["product_ms"]["least"], r) for r in cases]
            worst = max(products, key=lambda p: p[0])
            out.append([text, k, len(cases), f"{geomean([p for p, _ in products]):.1f}", f"{worst[0]:.1f} ({worst[1]['nnz']:.0e} entries)".replace("e+0", "e"),
                        sum(p > MOST_PRODUCTS for p, _ in products), f"{max(memory(r) / r['csr_bytes'] for r in cases):.2f}"])
    return out


INSPECTION_HEAD = ["matrix", "k", "sizes", "inspection in products, geometric mean", "worst", f"over {MOST_PRODUCTS}", "plan's memory / CSR at most"]


def data_rows(lines):
    """Real matrices: for each number of ranks, algorithm and width the mean and the worst."""
    groups = {}
    for r in lines:
        if r["record"] == "data":
            groups.setdefault((r["ranks"], r["asked"], r["k"]), []).append(r)
    out = []
    for (ranks, asked, k), cases in sorted(groups.items()):
        products = [(r["plan_ms"]["least"] / r["product_ms"]["least"], r) for r in cases]
        sizes = [(memory(r) / r["csr_bytes"], r) for r in cases]
        slowest, most = max(products, key=lambda p: p[0]), max(sizes, key=lambda p: p[0])
        out.append([ranks, asked, k, len(cases), f"{geomean([p for p, _ in products]):.1f}", f"{slowest[0]:.1f} ({slowest[1]['matrix']})",
                    sum(p > MOST_PRODUCTS for p, _ in products), f"{geomean([m for m, _ in sizes]):.2f}",
                    f"{most[0]:.2f} ({most[1]['matrix']})", sum(m > MOST_MEMORY for m, _ in sizes)])
    return out


DATA_HEAD = ["ranks", "algorithm", "k", "matrices", "inspection in products, geometric mean", "worst", f"over {MOST_PRODUCTS}",
             "plan's memory / CSR, geometric mean", "worst", f"over {MOST_MEMORY}"]


def why(lines):
    """Which cases exceed the limits, in words."""
    data = [r for r in lines if r["record"] == "data"]
    over = [r for r in data if r["plan_ms"]["least"] > MOST_PRODUCTS * r["product_ms"]["least"]]
    ranks = max(r["ranks"] for r in data)
    text = (f"Over {MOST_PRODUCTS} products are {len(over)} of {len(data)} plans" + (f", of which the product takes {max(r['product_ms']['least'] for r in over):.2f} ms at most"
            if over else "") + f". Planning for {ranks} ranks does not depend on k: the ranks exchange lists and agree after each step, `auto` plans each candidate in turn, and `cover` "
            "finds a matching for every two ranks. A product at k = 1 of a matrix that fits in the caches is short beside that. With several ranks a plan holds "
            "A once more, cut into parts, and narrow products on CPUs once more, in bundles of rows; at k = 32 the rows of X that ranks publish or receive are most of it "
            "where rows of A are short (128 bytes a row, beside 8 an entry). Algorithms that hand entries to other ranks (`cover`, `bcast-1.5d`, `summa-2d`) send "
            "24 bytes an entry and hold them twice meanwhile.")
    return text


def files(folder):
    """The files that are kept, CPUs first."""
    names = os.listdir(folder)
    return [os.path.join(folder, name) for name in sorted(names, key=lambda n: (not n.startswith("cpu"), n)) if name.endswith(".jsonl")]


def print_file(path):
    """The tables of one run."""
    machine, lines = read(path)
    where = (f"{machine['gpu']}, {machine['memory']}, driver {machine['driver']}, CUDA {machine['nvcc']}" if machine.get("gpu")
             else f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}")
    print(f"## {machine.get('gpu') or 'Processors'}\n")
    print(f"{where}; commit {machine['commit']}, {machine['time']}; `{os.path.basename(path)}`.\n")
    table(FIT_HEAD, fit_rows(lines))
    table(SIZE_HEAD, size_rows(lines))
    table(INSPECTION_HEAD, inspection_rows(lines))
    rows = data_rows(lines)
    if rows:
        print("Real square matrices of the data folder with more than 20,000 entries. Four ranks share the cores; their figures are of all ranks together.\n")
        table(DATA_HEAD, rows)
        print(why(lines) + "\n")


def report(folder):
    """Exponents of time and memory, and the costs of real matrices, if bench/growth.py has run."""
    print("# How plans and products grow\n")
    print("`bench/growth.py`: matrices from 1e5 entries on, f32, one rank; rows in some of the products are compared with sums in float64. Times are the least of several. s is "
          "the exponent of y = c nnz^s, fitted by least squares on logarithms. Memory, of which s is given, is the matrix and the "
          "most that planning takes beyond it; *plan's memory / CSR* is that most alone, over the matrix's bytes, a plan's copy of A (on a GPU, and in parts of several ranks) and its "
          "buffers of rows of X and Y included. *Process's peak* includes the matrix, and some 20 MiB of the program. *Inspection*: the time "
          "of a plan over that of a product.\n")
    print("With random columns the time of a product grows faster than the entries: that is the machine's memory hierarchy. While X fits in a cache its rows come "
          "from there, later each comes from memory. *Reading rows of X alone* is a loop that reads the row of X of each entry, in the order of the entries and "
          "ordered some entries before its use, and does nothing else: it has no plan and no products. At k = 32 it grows as products do, and takes as "
          "long once X is large. At k = 1 and 8 the loop's instructions make it slower than the product while X is in a cache, so its exponent is "
          "lower there. Bands, whose rows of X are near, show what plan and product do by themselves; in narrow products A too leaves the caches, "
          "at some 4e6 entries here. Plans of less than 1e6 entries work in memory that the "
          "process has at hand; for larger ones the system first clears fresh pages.\n")
    print("![Times against entries, k = 32](growth.svg)\n")
    for path in files(folder):
        print_file(path)


def picture(folder):
    """A chart for each machine and family: times against entries."""
    panels = []
    for path in files(folder):
        machine, lines = read(path)
        where = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
        for family, text in FAMILIES.items():
            cases = growth_cases(lines, family, 32)
            names = ["plan", "product"] + (["reading rows of X alone"] if any("gather_ms" in r for r in cases) else [])
            series = [(name, [(r["nnz"], QUANTITIES[name](r)) for r in cases if QUANTITIES[name](r) > 0]) for name in names]
            first, last = cases[0]["nnz"], cases[-1]["nnz"]
            each = QUANTITIES["product"](cases[-1]) / last
            panels.append((f"{where.removesuffix(' 80GB HBM3')}: {text}", "entries of A", "ms", series + [("in proportion", [(first, each * first), (last, each * last)])]))
    return pictures.grid(panels)
