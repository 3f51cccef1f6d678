# SPDX-License-Identifier: Apache-2.0
"""Tables of sley.torch, from bench/results/torch: epoch_*.json of bench/gnn/torch_epoch.py, ranks_*.json of bench/gnn/torch_ranks.py."""
import glob
import json
import os

OURS = {"product": "product sley.torch", "step": "step sley.nn, captured"}


def load_all(folder, start):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, start + "_*.json"))):
        with open(path) as stream:
            found.append(json.load(stream))
    return found


def machine_of(run):
    m = run["machine"]
    return f"{m['gpus']} x {m['gpu']}, driver {m['driver']}, CUDA {m['nvcc']}, torch {m['torch']}; commit {m['commit']}, {m['time']}"


def report_epochs(runs, table):
    print("### A product, and a step of a GCN of two layers\n")
    print(f"`bench/gnn/torch_epoch.py`, medians in ms. Ratios are to `sley.torch`, and to a captured step of `sley.nn`. {machine_of(runs[0])}.\n")
    rows = []
    for run in runs:
        for what, ms in sorted(run["ms"].items()):
            rows.append([run["graph"], what, f"{ms:.3f}", f"{ms / run['ms'][OURS[what.split()[0]]]:.2f}"])
    table(["graph", "what", "ms", "ratio"], rows)


def report_ranks(runs, table):
    print("### Training steps under torchrun\n")
    print("`bench/gnn/torch_ranks.py`: three layers of 128 without dropout; the largest difference of a gradient from one rank's, relative. "
          f"{machine_of(runs[0])}.\n")
    rows = []
    for run in runs:
        one = run["runs"][0]["models"]
        for several in run["runs"][1:]:
            for model, found in several["models"].items():
                best = min(one[model]["ms"], one[model].get("captured_ms") or one[model]["ms"])
                rows.append([run["graph"], model, several["ranks"], f"{best:.2f}", f"{found['ms']:.2f}", f"{best / found['ms']:.2f}", f"{found['difference']:.1e}"])
    table(["graph", "model", "ranks", "one rank ms", "ms", "times as fast", "difference"], rows)


def report(folder, table):
    epochs, ranks = load_all(folder, "epoch"), load_all(folder, "ranks")
    if not epochs and not ranks:
        return
    print("## PyTorch\n")
    if epochs:
        report_epochs(epochs, table)
    if ranks:
        report_ranks(ranks, table)
