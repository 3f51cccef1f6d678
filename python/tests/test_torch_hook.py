# SPDX-License-Identifier: Apache-2.0
"""The communication hook for DistributedDataParallel: two processes over gloo, and one rank by itself on every
device."""
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from hook_programs import Bucket  # noqa: E402
from test_dist import launched  # noqa: E402
from torch_support import on_devices  # noqa: E402

import sley  # noqa: E402
from sley.torch import SparseHookState, sparse_allreduce_hook  # noqa: E402
from sley.torch._rank import local_rank  # noqa: E402

PROGRAMS = Path(__file__).with_name("hook_programs.py")


@pytest.mark.parametrize("program", ["dense", "exact", "train", "checkpoint"])
def test_two_ranks(program, tmp_path):
    for status, out, errors in launched(2, str(PROGRAMS), program, str(tmp_path)):
        assert (status, out) == (0, "done\n"), errors


def one_bucket(values, device, dtype=torch.float32):
    flat = torch.tensor(values, device=device, dtype=dtype)
    return [torch.nn.Parameter(torch.zeros_like(flat))], flat


@on_devices
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_one_rank(device, dtype):
    state = SparseHookState(local_rank(device), density=0.5, sample=1, warmup_steps=1)
    parameters, flat = one_bucket([1, -2, 3, -4], device, dtype)
    expected = [[1, -2, 3, -4], [0, 0, 3, -4], [0, -4, 0, -4], [0, 0, 6, -4]]
    for step, sent in enumerate(expected):
        given = flat.clone()
        future = sparse_allreduce_hook(state, Bucket(0, parameters, given, last=True))
        assert future.value() is given and given.tolist() == sent and state.step == step + 1
    info, = state.info()
    assert (info.values, info.kept, info.threshold) == (4, 2, 4.0) and info.collective.path == "dense"
    left, = state.state_dict()["residuals"]
    assert left.tolist() == [3, -2, 0, 0] and left.device.type == "cpu"
    assert left.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    state.close()
    given = flat.clone()  # it goes on where it was
    state.reduce(Bucket(0, parameters, given, last=True))
    assert given.tolist() == [4, -4, 0, -4]  # what equals the threshold is kept
    state.close()


@on_devices
def test_the_share_falls_by_quarters(device):
    values = [float(1 + each) for each in range(1024)]
    state = SparseHookState(local_rank(device), density=0.01, sample=1, warmup_steps=1, ramp_steps=6)
    parameters, flat = one_bucket(values, device)
    kept = []
    for _ in range(9):
        state.load_state_dict({**state.state_dict(), "residuals": []})  # so that each step has the same values
        given = flat.clone()
        state.reduce(Bucket(0, parameters, given, last=True))
        kept.append(int((given != 0).sum()))
    assert kept[0] == 1024 and [sum(kept[1:3]), sum(kept[3:5]), sum(kept[5:7])] == [512, 128, 32]
    assert all(9 <= each <= 11 for each in kept[7:])
    state.close()


@on_devices
def test_infinities_and_nan_are_sent(device):
    state = SparseHookState(local_rank(device), density=0.25, sample=1)
    parameters, flat = one_bucket([1.0, float("nan"), 3.0, -float("inf")], device)
    state.reduce(Bucket(0, parameters, flat, last=True))
    assert str(flat.tolist()) == "[0.0, nan, 0.0, -inf]"
    assert state.state_dict()["residuals"][0].tolist() == [1, 0, 3, 0]


def test_states_are_loaded_before_and_after_steps():
    rank = local_rank("cpu")
    parameters, flat = one_bucket([1.0, -2.0, 3.0, -4.0], "cpu")
    first = SparseHookState(rank, density=0.25, sample=1)
    first.reduce(Bucket(0, parameters, flat.clone(), last=True))
    saved = first.state_dict()
    assert saved["residuals"][0].tolist() == [1, -2, 3, 0] and saved["step"] == 1
    fresh, used = SparseHookState(rank, density=0.25, sample=1), SparseHookState(rank, density=0.25, sample=1)
    used.reduce(Bucket(0, parameters, torch.full((4,), 7.0), last=True))
    for state in (fresh, used):
        state.load_state_dict(saved)
        again = state.state_dict()
        assert again["step"] == 1 and torch.equal(again["residuals"][0], saved["residuals"][0])
        given = flat.clone()
        state.reduce(Bucket(0, parameters, given, last=True))
        assert given.tolist() == [0, 0, 6, 0] and state.state_dict()["residuals"][0].tolist() == [2, -4, 0, -4]
    used.load_state_dict({**saved, "residuals": []})
    assert not used.state_dict()["residuals"][0].any()


@pytest.mark.parametrize(("options", "says"), [
    ({"density": 0}, "density is 0"), ({"density": 1.5}, "density is 1.5"), ({"density": float("nan")}, "density"),
    ({"sample": -1}, "sample is -1"), ({"warmup_steps": -1}, "warmup_steps is -1"),
    ({"ramp_steps": -2}, "ramp_steps -2"), ({"seed": -1}, "seed -1"),
    ({"compress": "zip"}, "'zip': take one of none, auto, pici, coo"), ({"way": "round"}, "'round'")])
def test_wrong_options_are_refused(options, says):
    with pytest.raises(sley.SleyArgumentError, match=says):
        SparseHookState(local_rank("cpu"), **options)


def test_mistakes_are_told():
    with pytest.raises(TypeError, match="momentum"):
        SparseHookState(local_rank("cpu"), momentum=0.9)
    with pytest.raises(sley.SleyArgumentError, match="neither a comm of sley.dist nor a process group"):
        SparseHookState("world")
    state = SparseHookState(local_rank("cpu"))
    whole = torch.tensor([1, 2])
    with pytest.raises(sley.SleyUnsupportedError, match="torch.int64"):
        state.reduce(Bucket(0, [whole], whole, last=True))
    parameters, flat = one_bucket([1.0, 2.0], "cpu")
    with pytest.raises(sley.SleyArgumentError, match="a bucket of 3 values has parameters of 2"):
        state.reduce(Bucket(0, parameters, torch.zeros(3), last=True))
    state.reduce(Bucket(0, parameters, flat, last=True))
    saved = state.state_dict()
    for wrong, says in [({**saved, "more": 1}, "more"), ({"step": 1}, "a state has"),
                        ({**saved, "version": 2}, "version 2"), ({**saved, "ranks": 4}, "of rank 0 of 4"),
                        ({**saved, "residuals": [torch.zeros(3)]}, "parameter 0 has 3 values")]:
        with pytest.raises(sley.SleyArgumentError, match=says):
            state.load_state_dict(wrong)
    fresh = SparseHookState(local_rank("cpu"))
    fresh.load_state_dict({**saved, "residuals": [torch.zeros(3)]})
    with pytest.raises(sley.SleyArgumentError, match="parameter 0 has 3 values, and the parameter 2"):
        fresh.reduce(Bucket(0, parameters, flat, last=True))
