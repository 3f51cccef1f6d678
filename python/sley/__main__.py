# SPDX-License-Identifier: Apache-2.0
"""python -m sley: information about this machine, and training of graph networks with PyTorch from the shell."""
import argparse
import json
import math
import os
import statistics
import sys
from typing import Any

import sley


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sley", description=__doc__.split("\n")[0])
    parser.add_argument("--version", action="version", version=f"sley {sley.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="what this build and this machine offer")
    train = commands.add_parser(
        "train", help="train a graph network on a whole graph",
        description="Options are those of sley gnn train. Ranks are those that a launcher has started.",
        epilog="Example: python -m sley train er:n=1000,nnz=8000 --features random:16 --labels planted:4",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    train.add_argument("graph", help="a file, or a generator such as er:n=1000,nnz=8000")
    train.add_argument("--features", required=True, help="a matrix, .npy or .npz file, or random:K")
    train.add_argument("--labels", required=True, help="a class on each line, .npy, a .npz with labels or y, or planted:C")
    train.add_argument("--model", default="gcn", help="kind of the layers, one of sley.train.MODELS")
    for name, kind, default, text in (
            ("layers", int, 2, "how many"), ("hidden", int, 64, "values of a row between layers, of each head where the model has heads"),
            ("heads", int, 8, "of hidden layers, where the model has heads"), ("rate", float, 0.01, "of learning"),
            ("decay", float, 5e-4, "of weights, added to the gradient"),
            ("dropout", float, 0.5, "chance of a value that a layer is given to be left out"),
            ("epochs", int, 200, "steps over the whole graph"),
            ("patience", int, 0, "ends after so many epochs without a better validation; 0: never"),
            ("train", int, 20, "rows of each class to train on, drawn by --seed"),
            ("valid", int, 30, "others for validation; the rest is for the test"),
            ("seed", int, 1, "of all that is drawn")):
        train.add_argument(f"--{name}", type=kind, default=default, help=text)
    train.add_argument("--split", help="a text file with train, valid, test or none on each line")
    train.add_argument("--optimizer", default="adam", choices=("adam", "sgd"), help="what makes a step of gradients")
    train.add_argument("--undirected", action="store_true", help="an entry (i, j) stands for (j, i) too")
    train.add_argument("--normalize", action="store_true", help="features are divided by the sums of their magnitudes")
    train.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="where tensors lie")
    train.add_argument("--out", help="write the weights of the best epoch, by torch.save")
    train.add_argument("--json", help="write all figures as JSON; - for stdout")
    return parser


def _train(options: argparse.Namespace) -> None:
    try:
        import torch

        import sley.train
    except ImportError as error:
        raise sley.SleyUnsupportedError(f"python -m sley train needs PyTorch: {error}") from None
    from sley import _train_data as data
    device = options.device if options.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    comm = _comm(device)
    a = data.graph(options.graph, options.undirected)
    x = data.features(options.features, a.shape[0], options.normalize, options.seed)
    classes = data.labels(options.labels, a.shape[0], x, options.seed)
    split = data.split(options.split, classes, options.train, options.valid, options.seed)
    if comm is None:
        row, col = a.nonzero()
        edges = torch.stack((torch.from_numpy(col.astype("int64")), torch.from_numpy(row.astype("int64"))))
        graph: Any = sley.torch.Graph(edges.to(device), a.shape[0])
        own = slice(None)
    else:
        if options.undirected:
            raise sley.SleyUnsupportedError("--undirected needs one rank: convert the graph first")
        graph = sley.torch.DistGraph.load(options.graph, comm, values=False)
        own = slice(*graph.row_begin[comm.rank:comm.rank + 2].tolist())
    torch.manual_seed(options.seed)
    net = sley.train.Net(options.model, x.shape[1], options.hidden, int(classes.max(initial=0)) + 1,
                         layers=options.layers, heads=options.heads, dropout=options.dropout).to(device)
    if comm is not None:
        torch.manual_seed(options.seed + 1 + comm.rank)  # other dropout masks on each rank
    masks = {name: torch.from_numpy(each[own]) for name, each in split.items()}
    result = sley.train.train(net, graph, torch.from_numpy(x[own]).to(device), torch.from_numpy(classes[own]), masks,
                              epochs=options.epochs, rate=options.rate, decay=options.decay,
                              optimizer=options.optimizer, patience=options.patience, comm=comm)
    if comm is None or comm.rank == 0:
        _report(options, result, device, 1 if comm is None else comm.size)
    if comm is not None:
        comm.shutdown()


def _comm(device: str) -> Any:
    """The comm of the ranks that a launcher has started; None for a single process."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    import torch

    from sley import dist  # type: ignore[attr-defined, unused-ignore]
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    return dist.init(device=device)


def _report(options: argparse.Namespace, result: Any, device: str, ranks: int) -> None:
    import torch
    epochs = result.epochs
    best = epochs[result.best] if epochs else None
    out = sys.stderr if options.json == "-" else sys.stdout
    if best is not None:
        ms = statistics.median(each.ms for each in epochs)
        print(f"device     {device}, {ranks} rank{'' if ranks == 1 else 's'}", file=out)
        print(f"epochs     {len(epochs)}, median {ms:.3f} ms; loss {epochs[0].loss:.4f}, then {epochs[-1].loss:.4f}",
              file=out)
        train, valid, test = ("no rows" if math.isnan(share) else f"{share:.4f}" for share in (best.train, best.valid, best.test))
        print(f"best       epoch {result.best + 1}: right in training {train}, validation {valid}, test {test}", file=out)
    if options.out:
        torch.save(result.best_state, options.out)
    if options.json:
        figures = {"graph": options.graph, "model": options.model, "device": device, "ranks": ranks,
                   "best_epoch": result.best + 1, "settings": vars(options),
                   "epochs": [{key: None if math.isnan(value) else value for key, value in vars(each).items()}
                              for each in epochs]}
        text = json.dumps(figures, indent=2)
        if options.json == "-":
            print(text)
        else:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")


def main() -> int:
    """Returns the exit status: 0 success, 1 failure, 2 wrong usage or input."""
    options = _parser().parse_args()
    try:
        if options.command == "info":
            print(sley.info())
        else:
            _train(options)
    except (sley.SleyArgumentError, sley.SleyInputError, FileNotFoundError) as error:
        print(f"sley: {error}", file=sys.stderr)
        return 2
    except (sley.SleyError, OSError) as error:
        print(f"sley: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
