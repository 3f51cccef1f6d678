# SPDX-License-Identifier: Apache-2.0
"""Tables of networks trained on GPUs, from bench/results/gnn and torch. gnn/*.json: epochs compared with PyTorch and PyTorch
Geometric on one GPU, by bench/gnn/epoch.py, and on more; ways of sending rows, by bench/gnn/cola_table11.py; accuracy on real
graphs, by bench/gnn/accuracy.py."""
import glob
import os

from tables import geomean, load as read, table

HEAD = ["model", "precision", "graph", "rows", "entries", "Sley: ms, kept", "fresh", "MiB of Sley", "best rival", "ms", "MiB of the rival", "rival / kept", "rival / fresh"]
MEAN_HEAD = ["model", "precision", "graphs", "rival / kept: geometric mean", "worst", "rival / fresh: geometric mean", "worst", "rival's memory / Sley's: mean", "worst"]
MORE = {"two_gpus": ("Networks on two GPUs", "two", 2),  # file: heading, number of GPUs in words, and the number
        "four_gpus": ("Networks on four GPUs", "four", 4),
        "four_gpus_gat": ("Attention on four GPUs, beside PyTorch Geometric", "four", 4),
        "four_gpus_gat_smaller": ("Attention on four GPUs, on smaller graphs beside PyTorch Geometric", "four", 4)}
ACCURACY_HEAD = ["graph", "model", "Sley", "PyTorch Geometric", "runs"]
RUNS = ["one_gpu", "one_gpu_tf32"]


def load(folder, name):
    path = os.path.join(folder, name + ".json")
    if not os.path.exists(path):
        return None
    return read(path)


def best_of(case):
    ran = {name: one for name, one in case["rivals"].items() if "ms" in one}
    return min(ran.items(), key=lambda pair: pair[1]["ms"]) if ran else (None, None)


def failed_of(case):
    failed = [f"{name}: {one['failed']}" for name, one in case["rivals"].items() if "failed" in one]
    return ", ".join(failed) or "-"


def way(case, name, ranks=1):
    """Name of a way; for a model without kept sums both ways are the same."""
    return case["sley"].get(f"{name} on {ranks}") or case["sley"].get(f"fresh on {ranks}")


def case_rows(run):
    for case in run["cases"]:
        name, rival = best_of(case)
        kept, fresh = way(case, "kept"), way(case, "fresh")
        row = [case["model"], run["precision"], case["graph"], case["rows"], case["entries"], f"{kept['ms']:.1f}", f"{fresh['ms']:.1f}", f"{fresh['mib']:.0f}"]
        yield row + ([name, f"{rival['ms']:.1f}", f"{rival['mib']:.0f}", f"{rival['ms'] / kept['ms']:.2f}", f"{rival['ms'] / fresh['ms']:.2f}"]
                     if rival else ["out of memory", "-", "-", "-", "-"])


def mean_rows(run):
    for model in dict.fromkeys(case["model"] for case in run["cases"]):
        kept, fresh, memory = [], [], []
        for case in run["cases"]:
            rival = best_of(case)[1] if case["model"] == model else None
            if rival:
                kept.append(rival["ms"] / way(case, "kept")["ms"])
                fresh.append(rival["ms"] / way(case, "fresh")["ms"])
                memory.append(rival["mib"] / way(case, "fresh")["mib"])
        if kept:
            yield [model, run["precision"], len(kept), f"{geomean(kept):.2f}", f"{min(kept):.2f}", f"{geomean(fresh):.2f}", f"{min(fresh):.2f}",
                   f"{geomean(memory):.2f}", f"{min(memory):.2f}"]


def machine_of(run):
    m = run["machine"]
    return f"{m['gpus']} {m['gpu']}, driver {m['driver']}, torch {m['torch']}, torch_geometric {m['torch_geometric']}; commit {m['commit']}"


def report_epochs(folder):
    runs = [run for run in (load(folder, name) for name in RUNS) if run]
    if not runs:
        return
    print("## Networks on one GPU\n")
    print("Three layers, 100 -> 128 -> 128 -> 47, full graphs, f32, Adam, without dropout; median milliseconds of a step. Graphs are drawn. kept: what "
          "the first layer sums of the features is made once; fresh: in each step, as the rivals do. Rivals: torch.sparse.mm with a CSR matrix and its "
          "transpose, both kept (csr), PyTorch Geometric with an edge_index (pyg) and an EdgeIndex (edge); the best of them counts. tf32: dense "
          "products on Tensor cores, on both sides. Memory: the most that the rival had allocated, by what Sley's command took of the device but its CUDA "
          "context. `bench/gnn/epoch.py`.\n")
    print(f"{machine_of(runs[0])}; seed {runs[0]['seed']}:\n")
    table(MEAN_HEAD, [row for run in runs for row in mean_rows(run)])
    table(HEAD, [row for run in runs for row in case_rows(run)])


def report_more(folder, name):
    """Results in a file of MORE."""
    run, (heading, word, gpus) = load(folder, name), MORE[name]
    if not run:
        return
    print(f"## {heading}\n")
    print(f"The same networks on one GPU and on {word} in one process; sums of the features are kept where the run has that (gat: none are). "
          f"{machine_of(run)}.\n")
    rows = []
    for case in run["cases"]:
        one, more, (rival, best) = way(case, "kept", 1), way(case, "kept", gpus), best_of(case)
        if one and more:
            rows.append([case["model"], case["graph"], "kept" if f"kept on {gpus}" in case["sley"] else "fresh", f"{one['ms']:.1f}", f"{more['ms']:.1f}",
                         f"{one['ms'] / more['ms']:.2f}", f"{one['mib']:.0f}", f"{more['mib']:.0f}",
                         f"{rival}: {best['ms']:.1f}" if best else failed_of(case), f"{best['ms'] / more['ms']:.2f}" if best else "-"])
    table(["model", "graph", "sums", "one GPU: ms", word, "times as fast", "one GPU: MiB", f"{word}: MiB of the first", "best rival on one GPU: ms",
           f"rival / {word}"], rows)


def report_ways(folder):
    """Results of bench/gnn/cola_table11.py."""
    run = load(folder, "cola_table11")
    if not run:
        return
    m, o, first = run["machine"], run["options"], run["cases"][0]
    print("## Ways of sending rows, in CoLa's setting\n")
    print("`bench/gnn/cola_table11.py`: an epoch of a GCN of five layers, 16 features, rows of 32 and 16 classes; every way is Sley's code. Ratios are to "
          "halo-pipelined, which is CoLa's; those of the paper are of each method's own program on 8 A800, and of the graphs themselves. "
          f"{m['gpus']} {m['gpu']}, driver {m['driver']}; twins of the graphs by {o['scale']:g}, {first['ranks']} ranks, transport {first['transport']}; "
          f"seed {o['seed']}, {o['rounds']} round of {o['epochs']} epochs after {o['warm']}; commit {m['commit']}.\n")
    table(["graph", "rows", "entries", "way", "ms an epoch", "ratio", "the paper's"],
          [[case["graph"], case["rows"], case["entries"], case["aggregate"], f"{case['ms']:.2f}", f"{case['ratio']:.2f}",
            f"{case['paper_ratio']:.2f}" if case["paper_ratio"] else "-"] for case in run["cases"] if "ms" in case])


def share(one):
    return f"{100 * one['mean']:.1f} +- {100 * one['deviation']:.1f} %"


def report_accuracy(folder):
    """Runs of each side may be in files of their own; equal numbers mean the same splits and seeds."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "accuracy*.json"))):
        run = read(path)
        for case in run["cases"]:
            key = (case["graph"], case["model"], run["splits"], run["seeds"], run["epochs"])
            found.setdefault(key, {}).update({who: case[who] for who in ("sley", "pyg") if who in case})
    both = [[graph, model, share(one["sley"]), share(one["pyg"]), splits * seeds]
            for (graph, model, splits, seeds, _), one in found.items() if len(one) == 2]
    if not both:
        return
    print("## Accuracy on real graphs\n")
    print("Rows of the test that are right, mean and standard deviation over splits and seeds: 20 rows of a class to train on, 30 for validation; two "
          "layers, Adam, dropout; the epoch with the best validation. The same splits on both sides. `bench/gnn/accuracy.py`.\n")
    table(ACCURACY_HEAD, both)


def report(folder):
    report_epochs(folder)
    for name in MORE:
        report_more(folder, name)
    report_ways(folder)
    report_accuracy(folder)


OURS = {"product": "product sley.torch", "step": "step sley.nn, captured"}


def load_all(folder, start):
    return [read(path) for path in sorted(glob.glob(os.path.join(folder, start + "_*.json")))]


def torch_machine(run):
    m = run["machine"]
    return f"{m['gpus']} x {m['gpu']}, driver {m['driver']}, CUDA {m['nvcc']}, torch {m['torch']}; commit {m['commit']}, {m['time']}"


def report_steps(runs):
    print("## A product, and a step of a GCN of two layers\n")
    print(f"`bench/gnn/torch_epoch.py`, medians in ms. Ratios are to `sley.torch`, and to a captured step of `sley.nn`. {torch_machine(runs[0])}.\n")
    rows = []
    for run in runs:
        for what, ms in sorted(run["ms"].items()):
            rows.append([run["graph"], what, f"{ms:.3f}", f"{ms / run['ms'][OURS[what.split()[0]]]:.2f}"])
    table(["graph", "what", "ms", "ratio"], rows)


def report_ranks(runs):
    print("## Training steps under torchrun\n")
    print("`bench/gnn/torch_ranks.py`: three layers of 128 without dropout; the largest difference of a gradient from one rank's, relative. "
          f"{torch_machine(runs[0])}.\n")
    rows = []
    for run in runs:
        one = run["runs"][0]["models"]
        for several in run["runs"][1:]:
            for model, found in several["models"].items():
                best = min(one[model]["ms"], one[model].get("captured_ms") or one[model]["ms"])
                rows.append([run["graph"], model, several["ranks"], f"{best:.2f}", f"{found['ms']:.2f}", f"{best / found['ms']:.2f}", f"{found['difference']:.1e}"])
    table(["graph", "model", "ranks", "one rank ms", "ms", "times as fast", "difference"], rows)


def report_torch(folder):
    epochs, ranks = load_all(folder, "epoch"), load_all(folder, "ranks")
    print("# PyTorch\n")
    if epochs:
        report_steps(epochs)
    if ranks:
        report_ranks(ranks)
