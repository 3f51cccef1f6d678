#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `sley gnn train` computes the same as PyTorch's autograd: both train the same models from the same initial
weights, without dropout, on one graph with features and labels in a .npz. The first gradients of all parameters must agree
within 1e-5 of the greatest, and the losses of all epochs within 1e-3. Exit status 1 if they do not.

The initial weights are those of a state that Sley has written after a step of rate 1e-30; its first moments are a tenth of the
gradients. PyTorch Geometric's layers receive the weights by name.
Usage: same.py SLEY GRAPH.npz [--models WORDS] [--epochs N] [--layers N] [--device NAME]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg

import graphs

warnings.simplefilter("ignore")
HIDDEN, HEADS, RATE, DECAY = 16, 4, 0.01, 5e-4
LOSS_BOUND, GRADIENT_BOUND = 1e-3, 1e-5

# For each model: Sley's name of a parameter, and its name in PyTorch Geometric's layer.
NAMES = {
    "gcn": {"weight": lambda c: c.lin.weight, "bias": lambda c: c.bias},
    "sage": {"neighbours": lambda c: c.lin_l.weight, "root": lambda c: c.lin_r.weight, "bias": lambda c: c.lin_l.bias},
    "gin": {"weight1": lambda c: c.nn[0].weight, "bias1": lambda c: c.nn[0].bias, "weight2": lambda c: c.nn[2].weight,
            "bias2": lambda c: c.nn[2].bias},
    "gat": {"weight": lambda c: c.lin.weight, "source": lambda c: c.att_src, "target": lambda c: c.att_dst, "bias": lambda c: c.bias},
}
TRANSPOSED = {"weight", "neighbours", "root", "weight1", "weight2"}


def make_layers(model, features, classes, count):
    layers = []
    for number in range(count):
        last = number == count - 1
        i, o = (features if number == 0 else HIDDEN * (HEADS if model == "gat" else 1)), (classes if last else HIDDEN)
        layers.append({"gcn": lambda: pyg.GCNConv(i, o), "sage": lambda: pyg.SAGEConv(i, o), "gat": lambda: pyg.GATConv(i, o, 1 if last else HEADS),
                       "gin": lambda: pyg.GINConv(torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o)))}[model]())
    return torch.nn.ModuleList(layers)


def parameters(layers, model):
    """Name in a state, tensor, and whether Sley stores it transposed."""
    for number, layer in enumerate(layers):
        for name, find in NAMES[model].items():
            yield f"{number}.{name}", find(layer), name in TRANSPOSED


def set_weights(layers, model, state):
    with torch.no_grad():
        for name, tensor, transposed in parameters(layers, model):
            value = state[name].T if transposed else state[name]
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(value)).reshape(tensor.shape))


def sley(args, model, split, *more):
    subprocess.run([args.sley, "gnn", "train", args.graph, "--features", args.graph, "--labels", args.graph, "--undirected", "--normalize", "--model",
                    model, "--layers", str(args.layers), "--hidden", str(HIDDEN), "--heads", str(HEADS), "--dropout", "0", "--split", split,
                    "--device", args.device, "--decay", str(DECAY), *more], check=True, stdout=subprocess.DEVNULL)


def compare(args, model, data, folder, split, train):
    index, x, labels = data
    first, report = (os.path.join(folder, name) for name in ("first.npz", "report.json"))
    sley(args, model, split, "--rate", "1e-30", "--epochs", "1", "--out", first)
    sley(args, model, split, "--rate", str(RATE), "--epochs", str(args.epochs), "--json", report)
    layers = make_layers(model, x.shape[1], int(labels.max()) + 1, args.layers)
    state, worst = np.load(first), 0.0
    set_weights(layers, model, state)
    optimizer = torch.optim.Adam(layers.parameters(), lr=RATE, weight_decay=DECAY)
    act, edges, rows, target = F.elu if model == "gat" else F.relu, torch.from_numpy(index), torch.from_numpy(x), torch.from_numpy(labels)
    losses = []
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        h = rows
        for number, layer in enumerate(layers):
            h = layer(h, edges)
            h = act(h) if number < len(layers) - 1 else h
        loss = F.cross_entropy(h[train], target[train])
        loss.backward()
        for name, tensor, transposed in parameters(layers, model) if epoch == 0 else ():
            expected = (tensor.grad + DECAY * tensor).detach().numpy()
            value = state[name + ".first"].T if transposed else state[name + ".first"]
            off = np.abs(value.reshape(expected.shape) * 10 - expected).max()
            worst = max(worst, float(off / (np.abs(expected).max() + 1e-30)))
        optimizer.step()
        losses.append(loss.item())
    with open(report) as stream:
        ours = [one["loss"] for one in json.load(stream)["epochs"]]
    off = max(abs(a - b) / (abs(b) + 1e-3) for a, b in zip(ours, losses))
    agrees = off <= LOSS_BOUND and worst <= GRADIENT_BOUND
    print(f"{model:5} {args.layers} layers, {args.epochs} epochs: loss {losses[0]:.4f} to {losses[-1]:.4f}; gradients within {worst:.1e}, losses "
          f"within {off:.1e}: {'agree' if agrees else 'DIFFER'}", flush=True)
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("graph")
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    data = graphs.edges(args.graph), graphs.features(args.graph), graphs.labels(args.graph)
    words = np.where(np.random.default_rng(1).random(data[2].size) < 0.1, "train", "test")
    with tempfile.TemporaryDirectory() as folder:
        split = os.path.join(folder, "split.txt")
        np.savetxt(split, words, fmt="%s")
        agreed = [compare(args, model, data, folder, split, torch.from_numpy(words == "train")) for model in args.models.split(",")]
    sys.exit(0 if all(agreed) else 1)


main()
