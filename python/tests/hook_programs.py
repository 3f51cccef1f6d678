# SPDX-License-Identifier: Apache-2.0
"""Programs of two ranks for test_torch_hook.py: hook_programs.py NAME FOLDER, with the variables that torchrun sets."""
import copy
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import sley.dist
from sley.torch import SparseHookState, sparse_allreduce_hook

SMALL = 0.0005  # MiB: a bucket has a parameter or two


class Bucket:
    """What a hook reads of a torch.distributed.GradBucket."""

    def __init__(self, index, parameters, flat, *, last):
        self._index, self._parameters, self._flat, self._last = index, parameters, flat, last

    def index(self):
        return self._index

    def parameters(self):
        return list(self._parameters)

    def buffer(self):
        return self._flat

    def is_last(self):
        return self._last


def net(dtype=torch.float32, seed=3):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.Tanh(), torch.nn.Linear(24, 16), torch.nn.Tanh(),
                               torch.nn.Linear(16, 3)).to(dtype)


def batch(step, dtype=torch.float32, rows=16):
    draw = torch.Generator().manual_seed(100 * step + dist.get_rank())
    x = torch.randn(rows, 12, generator=draw)
    return x.to(dtype), torch.stack((x[:, 0] * x[:, 1], x[:, 2].sin(), x[:, 3:6].sum(1)), 1).to(dtype)


def loss_of(model, step, dtype=torch.float32):
    x, y = batch(step, dtype)
    return (model(x) - y).square().mean()


def hooked(module, state, **options):
    model = DistributedDataParallel(module, **options)
    model.register_comm_hook(state, sparse_allreduce_hook)
    return model


def dense(_folder):
    """With density 1, and in the first steps of a warm-up, gradients are those without a hook, to the bit."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for options in ({"density": 1.0}, {"density": 0.1, "warmup_steps": 3}, {"density": 1.0, "compress": "pici"}):
            with SparseHookState(dist.group.WORLD, **options) as state:
                first = net(dtype)
                plain = DistributedDataParallel(copy.deepcopy(first), bucket_cap_mb=SMALL)
                sparse = hooked(first, state, bucket_cap_mb=SMALL)
                for step in range(3):
                    for model in (plain, sparse):
                        model.zero_grad()
                        loss_of(model, step, dtype).backward()
                    for one, other in zip(plain.parameters(), sparse.parameters(), strict=True):
                        assert torch.equal(one.grad, other.grad), (dtype, options, step)
                assert state.step == 3 and len(state.info()) > 1


def exact(_folder):
    """What is received and what is left are all gradients, when buckets are built anew, too. Whole numbers: no sum is
    rounded."""
    comm = sley.dist.init(dist.group.WORLD)
    shapes = [(40, 30), (30,), (7, 9), (1,), (50, 11)]
    parameters = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
    layouts = [[[4, 3], [2, 1, 0]], [[0, 4], [1], [3, 2]], [[2, 0, 3, 1, 4]]]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        state = SparseHookState(comm, density=0.05, compress="coo")
        given = [torch.zeros(shape, dtype=torch.float64) for shape in shapes]
        received = copy.deepcopy(given)
        draw = torch.Generator().manual_seed(7 + comm.rank)
        for step in range(9):
            gradients = [2.0 * torch.randint(-2, 3, shape, generator=draw).to(dtype) for shape in shapes]
            layout = layouts[step // 3]
            for index, chosen in enumerate(layout):
                flat = torch.cat([gradients[each].reshape(-1) for each in chosen])
                bucket = Bucket(index, [parameters[each] for each in chosen], flat, last=index == len(layout) - 1)
                made = sparse_allreduce_hook(state, bucket).value()
                assert made is flat
                for each, part in zip(chosen, flat.split([gradients[each].numel() for each in chosen]), strict=True):
                    received[each] += part.view(shapes[each]).double()
            for total, each in zip(given, gradients, strict=True):
                total += each.double()
        order = [each for chosen in layouts[0] for each in chosen]  # in which the parameters were met
        left = state.state_dict()["residuals"]
        for each, residual in zip(order, left, strict=True):
            both = torch.stack((given[each].reshape(-1), residual.double()))
            dist.all_reduce(both)
            assert torch.equal(both[0] / 2, received[each].reshape(-1) + both[1]), (dtype, each)
        assert len(state.info()) == 1 and 0 < state.info()[0].kept < state.info()[0].values
        state.close()
    sley.dist.shutdown()


def train(_folder):
    """The loss falls with a tenth of the values, and all ranks have the same weights."""
    with SparseHookState(dist.group.WORLD, density=0.1, warmup_steps=2) as state:
        model = hooked(net(), state, bucket_cap_mb=SMALL, gradient_as_bucket_view=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for step in range(60):
            optimizer.zero_grad()
            loss = loss_of(model, step % 4)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert sum(losses[-4:]) < 0.6 * sum(losses[:4]), losses
        kept, values = (sum(getattr(each, name) for each in state.info()) for name in ("kept", "values"))
        assert values == sum(each.numel() for each in model.parameters()) and kept < 0.3 * values
        weights = torch.cat([each.detach().reshape(-1) for each in model.parameters()])
        both = [torch.empty_like(weights) for _ in range(2)]
        dist.all_gather(both, weights)
        assert torch.equal(*both)


def checkpoint(folder):
    """A training that goes on from its checkpoint, in another model and state, gets the weights of one that was not
    stopped. One bucket whose sample is all of it: the order of its parameters does not matter."""
    path = f"{folder}/{dist.get_rank()}.pt"
    options = {"density": 0.05, "sample": 1.0}

    def steps(model, begin, end):
        for step in range(begin, end):
            model.zero_grad()
            loss_of(model, step).backward()
            with torch.no_grad():
                for each in model.parameters():
                    each -= 0.1 * each.grad

    with SparseHookState(dist.group.WORLD, **options) as state:
        model = hooked(net(), state)
        steps(model, 0, 4)
        torch.save({"model": model.module.state_dict(), "hook": state.state_dict()}, path)
        steps(model, 4, 7)
        expected = [each.detach().clone() for each in model.parameters()]
    saved = torch.load(path, weights_only=True)
    assert any(each.any() for each in saved["hook"]["residuals"])
    for before in (0, 2):  # steps of other numbers before it is loaded
        with SparseHookState(dist.group.WORLD, **options) as state:
            model = hooked(net(seed=4), state)
            steps(model, 0, before)
            model.module.load_state_dict(saved["model"])
            state.load_state_dict(saved["hook"])
            assert state.step == 4
            steps(model, 4, 7)
            assert all(torch.equal(one, other) for one, other in zip(expected, model.parameters(), strict=True))
            wrong = {**saved["hook"], "rank": 1 - dist.get_rank()}
            try:
                state.load_state_dict(wrong)
            except sley.SleyArgumentError as error:
                assert "the state is of rank" in str(error)
            else:
                raise AssertionError("the state of another rank was taken")


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    {each.__name__: each for each in (dense, exact, train, checkpoint)}[sys.argv[1]](sys.argv[2])
    dist.destroy_process_group()
    print("done")
