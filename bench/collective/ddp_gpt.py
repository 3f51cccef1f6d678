#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT on the bytes of this repository's documents by DistributedDataParallel, with whole gradients and with the hook
of sley.torch that sends the largest of them.

Both trainings start with the same weights and use the same batches. Step times are measured with a wait for the device at the
end of each step. Further steps, with a wait for the device after each part, measure the parts, so that nothing overlaps. Their
"exchange" is the whole all-reduce; for the hook it includes compressing, decompressing and adding.

Usage: torchrun --nproc-per-node 2 ddp_gpt.py [--steps N] [--layers N] [--width N] ... [--json FILE]
One process per GPU over nccl, or processes on the CPU over gloo. Set SLEY_LIBRARY, and PYTHONPATH=python, if the package is not
installed.
"""
import functools
import json
import math
import os
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import sley
from sley.torch import SparseHookState, sparse_allreduce_hook

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import common  # noqa: E402
import torch_side  # noqa: E402

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
VOCABULARY = 256  # byte values
FIRST = 5  # first steps whose times are left out, because memory is allocated and buckets are built
LAST = 10  # last steps, whose mean is the reported loss


def options_of():
    parser = common.Parser(__doc__)
    parser.add("--layers", 8)
    parser.add("--width", 512)
    parser.add("--heads", 0, "0: width / 64, at least 1")
    parser.add("--context", 256)
    parser.add("--batch", 8, "sequences of each rank")
    parser.add("--steps", 300)
    parser.add("--split-steps", 20)
    parser.add("--density", 0.01)
    parser.add("--warmup-steps", 0, "of the hook")
    parser.add("--ramp-steps", 0, "of the hook, after those")
    parser.add("--compress", "auto")
    parser.add("--bucket-mb", 25.0)
    parser.add("--rate", 3e-4, "the largest: it grows in the first 5 % of --steps")
    parser.add("--beta2", 0.999, "of AdamW")
    parser.add("--schedule", "cosine", "of the rate after that; cosine: down to a tenth at the end of --steps", choices=("cosine", "constant"))
    parser.add("--dtype", "f32", choices=DTYPES)
    parser.add("--device", "cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add("--seed", 1)
    parser.add("--json", None, "FILE, or - for standard output")
    o = parser.parse_args()
    o.heads = o.heads or max(o.width // 64, 1)
    if "RANK" not in os.environ:
        sys.exit("ddp_gpt.py: there is no RANK: start it with torchrun --nproc-per-node 2")
    if o.steps < 1 or o.split_steps < 1:
        sys.exit("ddp_gpt.py: --steps and --split-steps are at least 1")
    return o


# ---- the model and its data

class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.mix = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        y = F.scaled_dot_product_attention(*parts.permute(2, 0, 3, 1, 4), is_causal=True)
        x = x + self.mix(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


class Gpt(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.token = torch.nn.Embedding(VOCABULARY, o.width)
        self.place = torch.nn.Embedding(o.context, o.width)
        self.blocks = torch.nn.Sequential(*(Block(o.width, o.heads) for _ in range(o.layers)))
        self.last = torch.nn.LayerNorm(o.width)
        self.head = torch.nn.Linear(o.width, VOCABULARY)
        for name, each in self.named_parameters():
            ends_block = "mix" in name or "narrow" in name
            if each.dim() > 1:
                torch.nn.init.normal_(each, std=0.02 / (2 * o.layers) ** 0.5 if ends_block else 0.02)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.last(self.blocks(self.token(tokens) + self.place(places))))


def text():
    root = Path(common.ROOT)
    files = sorted(root.glob("*.md")) + sorted((root / "docs").glob("*.md"))
    return torch.frombuffer(bytearray(b"".join(each.read_bytes() for each in files)), dtype=torch.uint8)


def batch_of(tokens, o, step):
    """The rank's sequences of a step, and the next byte after each byte."""
    draw = torch.Generator().manual_seed((o.seed * 100003 + step) * dist.get_world_size() + dist.get_rank())
    first = torch.randint(0, len(tokens) - o.context - 1, (o.batch,), generator=draw)
    places = first[:, None] + torch.arange(o.context + 1)
    chosen = tokens[places].long().to(o.device)
    return chosen[:, :-1], chosen[:, 1:]


# ---- time

class Clock:
    """Adds up seconds by name; waits for the device at the start and end of each."""

    def __init__(self, device):
        self.device, self.seconds = device, defaultdict(float)

    def time(self, name, function, *arguments):
        torch_side.wait(self.device)
        begin = time.perf_counter()
        made = function(*arguments)
        torch_side.wait(self.device)
        self.seconds[name] += time.perf_counter() - begin
        return made


class TimedState(SparseHookState):
    """The hook's state, with its parts timed."""

    clock: Clock

    def sparsify(self, topk, flat):
        self.clock.time("topk", super().sparsify, topk, flat)

    def exchange(self, collective, flat):
        self.clock.time("exchange", super().exchange, collective, flat)


def timed_dense_hook(clock: Clock, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The default behaviour of DistributedDataParallel, timed."""
    flat = bucket.buffer().mul_(1 / dist.get_world_size())
    clock.time("exchange", dist.all_reduce, flat)
    future = torch.futures.Future(devices=[flat.device] if flat.is_cuda else None)
    future.set_result(flat)
    return future


# ---- trainings

class Training:
    """One of the two trainings: the module, its optimiser, and the hook's state or None."""

    def __init__(self, o, tokens, sparse):
        torch.manual_seed(o.seed)
        self.o, self.tokens, self.step = o, tokens, 0
        self.module = Gpt(o).to(o.device, DTYPES[o.dtype])
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=o.rate, betas=(0.9, o.beta2))
        self.state = self.make_state(SparseHookState) if sparse else None

    def make_state(self, kind):
        o = self.o
        return kind(dist.group.WORLD, density=o.density, warmup_steps=o.warmup_steps,
                    ramp_steps=o.ramp_steps, compress=o.compress)

    def wrapped(self):
        o = self.o
        ids = [torch.cuda.current_device()] if o.device == "cuda" else None
        return DistributedDataParallel(self.module, device_ids=ids, bucket_cap_mb=o.bucket_mb,
                                       gradient_as_bucket_view=True)

    def rate(self):
        """The learning rate of the next step."""
        o, first = self.o, max(self.o.steps // 20, 1)
        if self.step < first:
            return o.rate * (self.step + 1) / first
        done = min((self.step - first) / max(o.steps - first, 1), 1)
        return o.rate if o.schedule == "constant" else o.rate * (0.55 + 0.45 * math.cos(math.pi * done))

    def run_step(self, model, time_of):
        """Runs a step. time_of(name, function, *arguments) calls function, and may time it."""
        x, y = batch_of(self.tokens, self.o, self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.step += 1
        self.optimizer.zero_grad(set_to_none=False)

        def forward():
            return F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())

        loss = time_of("forward", forward)
        time_of("backward", loss.backward)
        time_of("optimiser", self.optimizer.step)
        return loss.detach()

    def train(self):
        """Returns the times of the steps in ms, and the losses of this rank."""
        model = self.wrapped()
        if self.state is not None:
            model.register_comm_hook(self.state, sparse_allreduce_hook)
        losses = []
        step = functools.partial(self.run_step, model, lambda _, function, *arguments: function(*arguments))
        times = torch_side.times(lambda: losses.append(step()), self.o.device, self.o.steps, 0)
        return times, [float(loss) for loss in losses]

    def split(self):
        """Returns the mean ms of each part of a step."""
        model, clock = self.wrapped(), Clock(self.o.device)
        if self.state is None:
            model.register_comm_hook(clock, timed_dense_hook)
        else:
            timed = self.make_state(TimedState)
            timed.clock = clock
            timed.load_state_dict(self.state.state_dict())
            model.register_comm_hook(timed, sparse_allreduce_hook)
        for number in range(self.o.split_steps + 2):
            if number == 2:
                clock.seconds.clear()
            self.run_step(model, clock.time)
        if self.state is not None:
            timed.close()
        clock.seconds["backward"] -= clock.seconds["topk"] + clock.seconds["exchange"]
        return {name: clock.seconds[name] * 1e3 / self.o.split_steps
                for name in ("forward", "backward", "topk", "exchange", "optimiser")}


def mean_over_ranks(values):
    both = torch.tensor(values, dtype=torch.float64)
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, both)
    return (sum(parts) / len(parts)).tolist()


def percentile(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def measure(o, tokens, sparse):
    training = Training(o, tokens, sparse)
    times, losses = training.train()
    losses = mean_over_ranks(losses)
    steady = times[min(FIRST, len(times) - 1):]  # includes dense steps of a warm-up
    made = {"name": "sparse" if sparse else "dense",
            "step_ms": {"median": statistics.median(steady), "p10": percentile(steady, 0.1),
                        "p90": percentile(steady, 0.9), "steps": len(steady)},
            "all_steps_ms": statistics.fmean(steady),
            "loss": statistics.fmean(losses[-LAST:]), "first_loss": losses[0], "losses": losses[::10]}
    if training.state is not None:
        infos = training.state.info()
        made["density"], made["compress"] = o.density, o.compress
        made["kept"] = sum(each.kept for each in infos) / sum(each.values for each in infos)
        made["sent_bytes"] = sum(each.collective.sent for each in infos)
        made["dense_bytes"] = sum(each.collective.dense_sent for each in infos)
        made["paths"] = sorted({f"{each.collective.path}: {each.collective.reason}" for each in infos})
    made["split_ms"] = training.split()
    if training.state is not None:
        training.state.close()
    return made, sum(each.numel() for each in training.module.parameters())


def tell(made):
    split = ", ".join(f"{name} {ms:.2f}" for name, ms in made["split_ms"].items())
    step = made["step_ms"]
    print(f"{made['name']:6}  step {step['median']:.2f} ms ({step['p10']:.2f} to {step['p90']:.2f}; mean "
          f"{made['all_steps_ms']:.2f})  loss {made['loss']:.4f}  split in ms: {split}", file=sys.stderr)


def main():
    o = options_of()
    if o.device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group("nccl" if o.device == "cuda" else "gloo")
    tokens, runs = text(), []
    for sparse in (False, True):
        made, parameters = measure(o, tokens, sparse)
        runs.append(made)
        if dist.get_rank() == 0:
            tell(made)
    if dist.get_rank() == 0 and o.json:
        name = torch.cuda.get_device_name() if o.device == "cuda" else "cpu"
        report = {"sley": sley.__version__, "torch": torch.__version__, "device": name,
                  "ranks": dist.get_world_size(), "parameters": parameters, "text_bytes": len(tokens),
                  "options": {key: value for key, value in vars(o).items() if key != "json"}, "runs": runs}
        if o.json == "-":
            print(json.dumps(report, indent=1))
        else:
            common.save(o.json, report, o.device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
