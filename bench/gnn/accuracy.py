#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the accuracy of `sley gnn train` on real graphs with PyTorch Geometric's same models on the same splits.

Splits are drawn as by Shchur and others (Pitfalls of graph neural network evaluation, 2018): 20 rows of each class to train on,
30 for validation, the rest for the test; each split is run with several seeds for initial weights and dropout. Two layers,
Adam, dropout of each layer's input. The test accuracy is that of the epoch with the best validation. Features are divided by
the sums of their rows, and graphs are made undirected. Run number n, counted from 0, has split n / seeds and the seed n + 1.
Each side of the comparison may be measured alone, with --only, on the same splits. Graphs whose files are not in DATA are left
out, with a message.
"""
import os
import statistics
import sys
import tempfile

import numpy as np

import graphs

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402

GRAPHS = {  # name: graph, features, labels, below DATA
    "cora": ("npz/cora.npz",) * 3,
    "citeseer": ("npz/citeseer.npz",) * 3,
    "physics": ("gnn/coauthor_phy.adj.mtx.gz", "npz/coauthor_phy.features.npz", "gnn/coauthor_phy.labels.txt"),
    "blogcatalog": ("gnn/blogcatalog.adj.mtx.gz", "gnn/blogcatalog.features.mtx.gz", "gnn/blogcatalog.labels.txt"),
}
MODELS = {"gcn": (64, 1), "gin": (64, 1), "sage": (64, 1), "gat": (8, 8)}  # hidden values, for gat per head; heads
CSR_MODELS = ("gin", "sage")  # aggregate raw features: with edge_index PyG copies the features of every edge, with a matrix it does not
FIRST_SEED, FIRST_SPLIT = 1, 1000  # first seeds of runs, and of splits
TRAIN, VALID, RATE, DECAY, DROPOUT = 20, 30, 0.01, 5e-4, 0.5


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


def summary(values):
    return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values) if len(values) > 1 else 0, "runs": len(values), "test": values}


def of_sley(args, files, model, split_files):
    """The share of test rows classified correctly after the best epoch of each run, and the seconds of a run's steps."""
    hidden, heads = MODELS[model]
    tests, seconds = [], []
    for split, seed in runs_of(args):
        result = common.sley(args.sley, "gnn", "train", files[0], "--features", files[1], "--labels", files[2], "--undirected", "--normalize",
                             "--split", split_files[split], "--seed", seed, "--model", model, "--layers", 2, "--hidden", hidden, "--heads", heads,
                             "--epochs", args.epochs, "--rate", RATE, "--decay", DECAY, "--dropout", DROPOUT, "--device", args.device)
        tests.append(result["epochs"][result["best_epoch"] - 1]["test"])
        seconds.append(sum(each["ms"] for each in result["epochs"]) / 1e3)
    return {**summary(tests), "step_seconds_per_run": statistics.fmean(seconds)}


class Rival:
    """PyTorch Geometric."""

    def __init__(self, files, labels):
        import torch
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.x = torch.from_numpy(graphs.features(files[1])).to(self.device)
        self.index = torch.from_numpy(graphs.edges(files[0])).to(self.device)
        # The matrix that PyG's layers accept in place of an edge_index; its rows are targets.
        self.csr = torch.sparse_coo_tensor(self.index.flip(0), torch.ones(self.index.shape[1], device=self.device),
                                           (self.x.shape[0],) * 2).coalesce().to_sparse_csr()
        self.labels = torch.from_numpy(labels).to(self.device)

    def run(self, args, model, words, seed):
        import torch_side
        torch, F, (hidden, heads) = self.torch, self.torch.nn.functional, MODELS[model]
        torch.manual_seed(seed)
        layers = torch.nn.ModuleList([torch_side.conv(model, self.x.shape[1], hidden, heads),
                                      torch_side.conv(model, hidden * heads, int(self.labels.max()) + 1)]).to(self.device)
        act, edges = F.elu if model == "gat" else F.relu, self.csr if model in CSR_MODELS else self.index
        mask = {name: torch.from_numpy(words == name).to(self.device) for name in ("train", "valid", "test")}
        optimizer = torch.optim.Adam(layers.parameters(), lr=RATE, weight_decay=DECAY)

        def logits():
            x = act(layers[0](F.dropout(self.x, DROPOUT, layers.training), edges))
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
            case["sley"] = of_sley(args, files, model, split_files)
        if rival:
            case["pyg"] = summary([rival.run(args, model, splits[split], seed) for split, seed in runs_of(args)])
        print(f"{name:12} {model:5} " + ", ".join(f"{who} {100 * case[who]['mean']:.1f} +- {100 * case[who]['deviation']:.1f} %"
                                                  for who in ("sley", "pyg") if who in case), flush=True)
        found.append(case)
        common.save(args.json, {"epochs": args.epochs, "splits": args.splits, "seeds": args.seeds, "cases": found}, "cuda")


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("sley")
    parser.add_argument("data")
    parser.add("--graphs", ",".join(GRAPHS))
    parser.add("--models", ",".join(MODELS))
    parser.add("--splits", 10)
    parser.add("--seeds", 3)
    parser.add("--epochs", 200)
    parser.add("--device", "auto")
    parser.add("--only", None, choices=["sley", "pyg"])
    parser.add("--json")
    args = parser.parse_args()
    parser.check(args, splits=1, seeds=1, epochs=1)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in parser.names("--graphs", args.graphs, GRAPHS):
            measure(args, name, folder, found)


common.start(main)
