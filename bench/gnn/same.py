#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `sley gnn train` computes the same as PyTorch's autograd: both train the same models from the same initial
weights, without dropout, on one graph with features and labels in a .npz. The first gradients of all parameters must agree
within 1e-5 of the greatest, and the losses of all epochs within 1e-3. Exit status 1 if they do not.

The initial weights are those of a state that Sley has written after a step of rate 1e-30; its first moments are a tenth of the
gradients. PyTorch Geometric's layers receive the weights by name.
"""
import os
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F

import graphs

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import torch_side  # noqa: E402

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


def parameters(layers, model):
    """Name in a state, tensor, and whether Sley stores it transposed."""
    for number, layer in enumerate(layers):
        for name, find in NAMES[model].items():
            yield f"{number}.{name}", find(layer), name in TRANSPOSED


def make_layers(model, features, classes, count, state):
    """PyTorch Geometric's layers with the weights of a state."""
    heads = HEADS if model == "gat" else 1
    layers = torch.nn.ModuleList(torch_side.conv(model, HIDDEN * heads if number else features, HIDDEN if number < count - 1 else classes,
                                                 heads if number < count - 1 else 1) for number in range(count))
    with torch.no_grad():
        for name, tensor, transposed in parameters(layers, model):
            value = state[name].T if transposed else state[name]
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(value)).reshape(tensor.shape))
    return layers


def worst_gradient(layers, model, state):
    worst = 0.0
    for name, tensor, transposed in parameters(layers, model):
        expected = (tensor.grad + DECAY * tensor).detach().numpy()
        value = state[name + ".first"].T if transposed else state[name + ".first"]
        off = np.abs(value.reshape(expected.shape) * 10 - expected).max()
        worst = max(worst, float(off / (np.abs(expected).max() + 1e-30)))
    return worst


def compare(args, model, folder, split, train):
    first = os.path.join(folder, "first.npz")
    words = ["gnn", "train", args.graph, "--features", args.graph, "--labels", args.graph, "--undirected", "--normalize", "--model", model, "--layers",
             args.layers, "--hidden", HIDDEN, "--heads", HEADS, "--dropout", "0", "--split", split, "--device", args.device, "--decay", DECAY]
    common.run([args.sley, *words, "--rate", "1e-30", "--epochs", "1", "--out", first])
    ours = [one["loss"] for one in common.sley(args.sley, *words, "--rate", RATE, "--epochs", args.epochs)["epochs"]]
    edges, x, labels = (torch.from_numpy(read(args.graph)) for read in (graphs.edges, graphs.features, graphs.labels))
    state, losses, worst = np.load(first), [], 0.0
    layers = make_layers(model, x.shape[1], int(labels.max()) + 1, args.layers, state)
    optimizer = torch.optim.Adam(layers.parameters(), lr=RATE, weight_decay=DECAY)
    act = F.elu if model == "gat" else F.relu
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        h = x
        for number, layer in enumerate(layers):
            h = layer(h, edges)
            h = act(h) if number < len(layers) - 1 else h
        loss = F.cross_entropy(h[train], labels[train])
        loss.backward()
        if epoch == 0:
            worst = worst_gradient(layers, model, state)
        optimizer.step()
        losses.append(loss.item())
    off = max(abs(a - b) / (abs(b) + 1e-3) for a, b in zip(ours, losses))
    agrees = off <= LOSS_BOUND and worst <= GRADIENT_BOUND
    print(f"{model:5} {args.layers} layers, {args.epochs} epochs: loss {losses[0]:.4f} to {losses[-1]:.4f}; gradients within {worst:.1e}, losses "
          f"within {off:.1e}: {'agree' if agrees else 'DIFFER'}", flush=True)
    return agrees


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("sley")
    parser.add_argument("graph", metavar="GRAPH.npz")
    parser.add("--models", ",".join(NAMES))
    parser.add("--epochs", 100)
    parser.add("--layers", 2)
    parser.add("--device", "auto")
    args = parser.parse_args()
    words = np.where(np.random.default_rng(1).random(graphs.labels(args.graph).size) < 0.1, "train", "test")
    with tempfile.TemporaryDirectory() as folder:
        split = os.path.join(folder, "split.txt")
        np.savetxt(split, words, fmt="%s")
        agreed = [compare(args, model, folder, split, torch.from_numpy(words == "train")) for model in parser.names("--models", args.models, NAMES)]
    return 0 if all(agreed) else 1


common.start(main)
