#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the accuracy of `sley gnn train` on real graphs with PyTorch Geometric's same models on the same splits.

Splits are drawn as by Shchur and others (Pitfalls of graph neural network evaluation, 2018): 20 rows of each class to train on,
30 for validation, the rest for the test; each split is run with several seeds for initial weights and dropout. Two layers,
Adam, dropout of each layer's input. The test accuracy is that of the epoch with the best validation. Features are divided by
the sums of their rows, and graphs are made undirected. Run number n, counted from 0, has split n / seeds and the seed n + 1.
Each side of the comparison may be measured alone, with --only, on the same splits.

Graphs whose files are not in DATA are left out, with a message. Programs that are not installed are left out, too.
Usage: accuracy.py SLEY DATA [--graphs WORDS] [--models WORDS] [--splits N] [--seeds N] [--epochs N] [--device NAME]
                   [--only sley|pyg] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

import numpy as np

import graphs
import runs

GRAPHS = {  # name: graph, features, labels, below DATA
    "cora": ("npz/cora.npz", "npz/cora.npz", "npz/cora.npz"),
    "citeseer": ("npz/citeseer.npz", "npz/citeseer.npz", "npz/citeseer.npz"),
    "physics": ("gnn/coauthor_phy.adj.mtx.gz", "npz/coauthor_phy.features.npz", "gnn/coauthor_phy.labels.txt"),
    "blogcatalog": ("gnn/blogcatalog.adj.mtx.gz", "gnn/blogcatalog.features.mtx.gz", "gnn/blogcatalog.labels.txt"),
}
MODELS = {"gcn": (64, 1), "gin": (64, 1), "sage": (64, 1), "gat": (8, 8)}  # hidden values, for gat per head; heads
CSR_MODELS = ("gin", "sage")  # aggregate raw features: with edge_index PyG copies the features of every edge, with a matrix it does not
FIRST_SEED, FIRST_SPLIT = 1, 1000  # first seeds of runs, and of splits
TRAIN, VALID, RATE, DECAY, DROPOUT = 20, 30, 0.01, 5e-4, 0.5


# ---- splits

def draw_split(labels, seed):
    """Returns a word for each row: its part of the split."""
    order = np.random.default_rng(seed).permutation(labels.size)
    words = np.full(labels.size, "none", dtype="<U5")
    for label in range(labels.max() + 1):
        rows = order[labels[order] == label]
        words[rows[:TRAIN]] = "train"
        words[rows[TRAIN:TRAIN + VALID]] = "valid"
        words[rows[TRAIN + VALID:]] = "test"
    return words


def runs_of(args):
    """Returns the split and the seed of each run."""
    return [(n // args.seeds, FIRST_SEED + n) for n in range(args.splits * args.seeds)]


# ---- Sley

def run_sley(args, files, model, split_file, seed):
    """Returns the share of test rows classified correctly after the best epoch, and the seconds of all steps."""
    hidden, heads = MODELS[model]
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([args.sley, "gnn", "train", files[0], "--features", files[1], "--labels", files[2], "--undirected", "--normalize",
                        "--split", split_file, "--seed", str(seed), "--model", model, "--layers", "2", "--hidden", str(hidden),
                        "--heads", str(heads), "--epochs", str(args.epochs), "--rate", str(RATE), "--decay", str(DECAY),
                        "--dropout", str(DROPOUT), "--device", args.device, "--json", report.name],
                       check=True, stdout=subprocess.DEVNULL)
        with open(report.name) as stream: # the command has replaced the file
            result = json.load(stream)
    epochs = result["epochs"]
    return epochs[result["best_epoch"] - 1]["test"], sum(each["ms"] for each in epochs) / 1e3


# ---- PyTorch Geometric

class Rival:
    def __init__(self, files, labels):
        import torch
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.x = torch.from_numpy(graphs.features(files[1])).to(self.device)
        self.index = torch.from_numpy(graphs.edges(files[0])).to(self.device)
        self.csr = self.csr_of(self.index, self.x.shape[0])
        self.labels = torch.from_numpy(labels).to(self.device)
        self.classes = int(labels.max()) + 1

    def csr_of(self, index, rows):
        """The matrix that PyG's layers accept in place of an edge_index; its rows are targets."""
        ones = self.torch.ones(index.shape[1], device=self.device)
        return self.torch.sparse_coo_tensor(index.flip(0), ones, (rows, rows)).coalesce().to_sparse_csr()

    def layers(self, model):
        import torch_geometric.nn as pyg
        nn = self.torch.nn
        hidden, heads = MODELS[model]
        features = self.x.shape[1]
        if model == "gat":
            return [pyg.GATConv(features, hidden, heads), pyg.GATConv(hidden * heads, self.classes, 1)]
        make = {"gcn": lambda i, o: pyg.GCNConv(i, o), "sage": lambda i, o: pyg.SAGEConv(i, o),
                "gin": lambda i, o: pyg.GINConv(nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o)))}[model]
        return [make(features, hidden), make(hidden, self.classes)]

    def run(self, args, model, words, seed):
        torch, F = self.torch, self.torch.nn.functional
        torch.manual_seed(seed)
        layers = torch.nn.ModuleList(self.layers(model)).to(self.device)
        act = F.elu if model == "gat" else F.relu
        mask = {name: torch.from_numpy(words == name).to(self.device) for name in ("train", "valid", "test")}
        optimizer = torch.optim.Adam(layers.parameters(), lr=RATE, weight_decay=DECAY)
        edges = self.csr if model in CSR_MODELS else self.index

        def logits():
            x = F.dropout(self.x, DROPOUT, layers.training)
            x = act(layers[0](x, edges))
            return layers[1](F.dropout(x, DROPOUT, layers.training), edges)

        best, test = -1.0, 0.0
        for _ in range(args.epochs):
            layers.train()
            optimizer.zero_grad()
            F.cross_entropy(logits()[mask["train"]], self.labels[mask["train"]]).backward()
            optimizer.step()
            layers.eval()
            with torch.no_grad():
                right = logits().argmax(1) == self.labels
                valid = right[mask["valid"]].float().mean().item()
                if valid > best:
                    best, test = valid, right[mask["test"]].float().mean().item()
        return test


# ---- the run

def summary(values):
    return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values) if len(values) > 1 else 0, "runs": len(values), "test": values}


def write(args, cases):
    """Writes the results after each case, so that an interrupted run keeps the earlier ones."""
    if args.json:
        with open(args.json, "w") as stream:
            json.dump({"machine": args.machine, "epochs": args.epochs, "splits": args.splits, "seeds": args.seeds, "cases": cases}, stream, indent=1)


def measure(args, name, folder, found):
    files = [os.path.join(args.data, one) for one in GRAPHS[name]]
    missing = [one for one in files if not os.path.exists(one)]
    if missing:
        print(f"{name}: skipped, there is no {missing[0]}")
        return
    labels = graphs.labels(files[2])
    rival = Rival(files, labels) if args.only != "sley" else None
    splits = [draw_split(labels, FIRST_SPLIT + split) for split in range(args.splits)]
    split_files = [os.path.join(folder, f"{name}_{split}.txt") for split in range(args.splits)]
    for path, words in zip(split_files, splits):
        np.savetxt(path, words, fmt="%s")
    for model in args.models.split(","):
        case = {"graph": name, "model": model}
        if args.only != "pyg":
            ended = [run_sley(args, files, model, split_files[split], seed) for split, seed in runs_of(args)]
            tests, seconds = zip(*ended)
            case["sley"] = {**summary(tests), "step_seconds_per_run": statistics.fmean(seconds)}
        if rival:
            case["pyg"] = summary([rival.run(args, model, splits[split], seed) for split, seed in runs_of(args)])
        line = ", ".join(f"{who} {100 * case[who]['mean']:.1f} +- {100 * case[who]['deviation']:.1f} %" for who in ("sley", "pyg") if who in case)
        print(f"{name:12} {model:5} {line}", flush=True)
        found.append(case)
        write(args, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("data")
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", choices=["sley", "pyg"])
    parser.add_argument("--json")
    args = parser.parse_args()
    args.machine = runs.machine("cuda")
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.graphs.split(","):
            measure(args, name, folder, cases)


main()
