# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, bias, activation and dropout in one pass, and the loss of labels, against torch's; their
gradients, and what torch asks of an operator."""
import math

import pytest
import scipy.stats

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402
from torch_support import drawn, drawn_edges, needs_draws, on_devices  # noqa: E402

import sley  # noqa: E402
import sley.nn  # noqa: E402
from sley.torch import Graph, bias_act_dropout, convs, dense_ops, draw_seed, linear, nll  # noqa: E402

TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
ROUNDING = {torch.float64: 1e-15, torch.float32: 1e-7, torch.bfloat16: 4e-3, torch.float16: 5e-4}
SHAPES = [(0, 3), (1, 0), (1, 1), (7, 5), (33, 64), (300, 31)]
on_shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda each: "x".join(map(str, each)))
on_types = pytest.mark.parametrize("dtype", TYPES, ids=str)


def assert_near(found, expected, times=1):
    bound = ROUNDING[found.dtype] * times
    torch.testing.assert_close(found.double(), expected.double(), rtol=bound, atol=bound, equal_nan=True)


def seed_of(number, device):
    return torch.tensor([number], device=device)


# ---- products


@on_devices
@on_types
@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 1, 1), (7, 0, 5), (300, 33, 64), (2500, 64, 40)], ids=str)
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_products_are_those_of_torch(device, shape, dtype, ta, tb):
    """Errors are within some roundings of the sums of magnitudes, and two of the result. On a GPU the product may be
    rounded before the bias is added."""
    m, n, k = shape
    a = drawn(*((k, m) if ta else (m, k)), seed=1, device=device, dtype=dtype).detach()
    b = drawn(*((n, k) if tb else (k, n)), seed=2, device=device, dtype=dtype).detach()
    bias = drawn(n, seed=3, device=device, dtype=dtype).detach()
    left, right = (each.double().T if flipped else each.double() for each, flipped in ((a, ta), (b, tb)))
    bound = (k + 8) * (ROUNDING[dtype] if dtype == torch.float64 else ROUNDING[torch.float32])
    for found, beside in ((dense_ops.gemm(a, b, ta, tb, bias), bias), (dense_ops.gemm(a, b, ta, tb, None), 0 * bias)):
        assert found.dtype == dtype and found.shape == (m, n) and found.is_contiguous()
        product, size = left @ right, left.abs() @ right.abs() + beside.double().abs()
        expected = product + beside.double()
        rounded = expected.abs() + (product.abs() if device == "cuda" else 0)
        assert bool(((found.double() - expected).abs() <= bound * size + 2 * ROUNDING[dtype] * rounded).all())
    if ta is False and tb is True:
        assert torch.equal(linear(a, b, bias), dense_ops.gemm(a, b, False, True, bias))


@on_devices
def test_layers_take_products_of_sley_where_they_are_faster(monkeypatch, device):
    """On a device that is said to make them; also under the compiler."""
    monkeypatch.setattr(convs, "_multiplies", torch.compiler.assume_constant_result(lambda device: True))
    for rows, inputs, own in ((4096, 64, True), (100, 64, False), (4096, 16, False)):
        torch._dynamo.reset()
        compiled = torch.compile(convs._product, fullgraph=True, backend="aot_eager")
        x, weight = (drawn(each, inputs, seed=1, device=device, dtype=torch.float32) for each in (rows, 48))
        made = convs._product(x, weight)
        assert ("gemm" in type(made.grad_fn).__name__) == own
        for each in (made, compiled(x, weight)):
            torch.testing.assert_close(each.double(), x.double() @ weight.double().T, rtol=1e-5, atol=1e-4)


# ---- bias, activation, dropout


@on_devices
@on_shapes
@on_types
@pytest.mark.parametrize("act", ["none", "relu"])
def test_without_dropout_it_is_the_sum_and_the_activation(device, shape, dtype, act):
    x, bias, dy = (drawn(*each, seed=1, device=device, dtype=dtype) for each in (shape, shape[1:], shape))
    y = bias_act_dropout(x, bias, act)
    assert y.dtype == dtype
    wide = [each.detach().double().requires_grad_() for each in (x, bias)]
    expected = sum(wide) if act == "none" else sum(wide).relu()
    assert_near(y, expected, 2)
    found = torch.autograd.grad(y, (x, bias), dy)
    # the gradient of relu where the sum is rounded to 0 may differ: there is none
    for one, other in zip(found, torch.autograd.grad(expected, wide, dy.double()), strict=True):
        assert_near(one, other, 4 * math.sqrt(max(shape[0], 1)))


@on_devices
@on_types
@needs_draws
def test_a_share_p_is_dropped_and_the_rest_is_scaled(device, dtype):
    """In all, by rows and by columns, a count of independent draws is one that has a chance of 1e-12 or more."""
    x = torch.ones(600, 200, device=device, dtype=dtype)
    for p in (0.1, 0.5, 0.9):
        y = bias_act_dropout(x, None, "relu", p).double()
        kept = y > 0
        assert_near(y[kept].to(dtype), torch.full_like(y[kept], 1 / (1 - p)))
        for counts, of in ((kept.sum(), kept.numel()), (kept.sum(0), 600), (kept.sum(1), 200)):
            assert scipy.stats.binom.ppf(1e-12, of, 1 - p) <= int(counts.min())
            assert int(counts.max()) <= scipy.stats.binom.isf(1e-12, of, 1 - p)


@on_devices
@on_shapes
@needs_draws
def test_masks_are_those_of_their_numbers(device, shape):
    x, bias = drawn(*shape, seed=1, device=device), drawn(*shape[1:], seed=2, device=device)
    seed = seed_of(2**62 + 5, device)
    mask = bias_act_dropout(torch.ones_like(x), p=0.4, seed=seed, stream=3, first_row=7)
    assert torch.equal(mask, bias_act_dropout(torch.ones_like(x), p=0.4, seed=seed, stream=3, first_row=7))
    torch.testing.assert_close(bias_act_dropout(x, bias, "relu", 0.4, seed=seed, stream=3, first_row=7),
                               (x + bias).relu() * mask)
    torch.testing.assert_close(bias_act_dropout(x, bias, "none", 0.4, seed=seed, stream=3, first_row=7),
                               (x + bias) * mask)
    half = shape[0] // 2  # other ranks' rows are numbered on
    parts = [bias_act_dropout(torch.ones_like(part), p=0.4, seed=seed, stream=3, first_row=7 + first)
             for part, first in ((x[:half], 0), (x[half:], half))]
    assert torch.equal(torch.cat(parts), mask)
    if x.numel() > 100:
        for other in ({"seed": seed + 1, "stream": 3}, {"seed": seed, "stream": 4}):
            assert not torch.equal(bias_act_dropout(torch.ones_like(x), p=0.4, first_row=7, **other), mask)


@on_devices
@needs_draws
def test_masks_follow_the_seed_of_torch(device):
    x = torch.ones(50, 8, device=device)
    torch.manual_seed(3)
    first, second = bias_act_dropout(x, p=0.5), bias_act_dropout(x, p=0.5)
    torch.manual_seed(3)
    assert torch.equal(bias_act_dropout(x, p=0.5), first) and not torch.equal(first, second)
    assert draw_seed(x.device).dtype == torch.int64


@needs_draws
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_masks_are_those_of_the_host():
    for shape in SHAPES:
        x = drawn(*shape, seed=1, dtype=torch.float32).detach()
        for act in ("none", "relu"):
            here = bias_act_dropout(x, x[0] if len(x) else None, act, 0.3, seed=seed_of(9, "cpu"), stream=2)
            there = x.cuda()
            there = bias_act_dropout(there, there[0] if len(x) else None, act, 0.3, seed=seed_of(9, "cuda"), stream=2)
            assert torch.equal(there.cpu(), here)


@needs_draws
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_replays_draw_anew_and_follow_the_seed_of_torch():
    x, bias = drawn(100, 16, seed=1, device="cuda"), drawn(16, seed=2, device="cuda")
    label = torch.arange(100, device="cuda", dtype=torch.int32) % 16

    def step():
        loss = nll(bias_act_dropout(x, bias, "relu", 0.5), label)
        return loss, *torch.autograd.grad(loss, (x, bias))

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        made = step()
    runs = []
    for seed in (5, None, 5):
        if seed is not None:
            torch.manual_seed(seed)
        captured.replay()
        runs.append([each.clone() for each in made])
    assert all(map(torch.equal, runs[0], runs[2])) and not torch.equal(runs[0][0], runs[1][0])


@on_devices
@needs_draws
def test_rows_are_read_where_they_lie_and_others_are_copied(device):
    wide, seed = drawn(60, 20, seed=1, device=device).detach(), seed_of(4, device)
    for x in (wide[:, 3:11], wide.T.contiguous().T, wide[::2], wide[:1].expand(60, 20)):
        expected = bias_act_dropout(x.contiguous(), x[0].contiguous(), "relu", 0.3, seed=seed)
        assert torch.equal(bias_act_dropout(x, x[0], "relu", 0.3, seed=seed), expected)
        leaf = x.detach().requires_grad_()
        dy = wide.new_ones(1, 1).expand(x.shape)
        assert torch.equal(torch.autograd.grad(bias_act_dropout(leaf, None, "relu", 0.3, seed=seed), leaf, dy)[0],
                           (expected_mask(x, seed) * (x > 0)))


def expected_mask(x, seed):
    return bias_act_dropout(torch.ones_like(x, memory_format=torch.contiguous_format), p=0.3, seed=seed)


# ---- the loss


@on_devices
@on_types
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (300, 40), (257, 1000)], ids=str)
@pytest.mark.parametrize("index", [torch.int64, torch.int32], ids=str)
def test_the_loss_is_that_of_torch(device, dtype, shape, index):
    rows, classes = shape
    logits = drawn(rows, classes, seed=1, device=device, dtype=dtype)
    draw = torch.Generator().manual_seed(2)
    labels = torch.randint(0, classes, (rows,), generator=draw).to(device, index)
    mask = (torch.rand(rows, generator=draw) < 0.4).to(device)
    mask[0] = True
    wide = logits.detach().double().requires_grad_()
    for found, expected in (
            (nll(logits, labels), functional.cross_entropy(wide, labels.long())),
            (nll(logits, labels, mask), functional.cross_entropy(wide[mask], labels[mask].long())),
            (nll(logits, torch.where(mask, labels, -1).to(index)),
             functional.cross_entropy(wide[mask], labels[mask].long())),
            (nll(logits, labels, mask, counted=rows * 3),
             functional.cross_entropy(wide[mask], labels[mask].long(), reduction="sum") / (rows * 3))):
        assert found.dtype == dtype and found.shape == ()
        assert_near(found, expected, 20)
        (mine,), (other,) = (torch.autograd.grad(loss * 3, each) for loss, each in ((found, logits), (expected, wide)))
        assert mine.dtype == dtype
        assert_near(mine, other, 20)


@on_devices
def test_losses_of_no_row_and_of_no_class(device):
    logits = drawn(4, 3, seed=1, device=device)
    none = nll(logits, torch.full((4,), -1, device=device))
    assert torch.isnan(none) and torch.isnan(functional.cross_entropy(logits[:0], logits.new_zeros(0).long()))
    for wrong in (3, -2, -100, 2**32, 2**40 + 1):
        assert torch.isnan(nll(logits, torch.tensor([0, wrong, 1, 2], device=device)))
    assert torch.isnan(nll(logits[:0], torch.zeros(0, device=device, dtype=torch.int64)))


@on_devices
def test_the_loss_does_not_overflow(device):
    logits = torch.tensor([[3e38, -3e38], [0.0, 1e30]], device=device, requires_grad=True)
    loss = nll(logits, torch.tensor([0, 1], device=device))
    assert float(loss.detach()) == 0.0
    assert torch.equal(torch.autograd.grad(loss, logits)[0], torch.zeros_like(logits))


# ---- gradients, and what torch asks


def checked(function, *arguments):
    assert torch.autograd.gradcheck(function, arguments)
    assert torch.autograd.gradgradcheck(function, arguments)


def operands(device):
    """x, bias, labels of which some do not count, a seed."""
    return (drawn(6, 5, seed=1, device=device), drawn(5, seed=2, device=device),
            torch.tensor([0, 4, -1, 2, 2, -1], device=device, dtype=torch.int32), seed_of(11, device))


@on_devices
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_gradients_of_products(device, ta, tb):
    a = drawn(*((3, 4) if ta else (4, 3)), seed=1, device=device)
    b = drawn(*((5, 3) if tb else (3, 5)), seed=2, device=device)
    bias = drawn(5, seed=3, device=device)
    for gemm in (dense_ops.gemm, dense_ops.gemm.op):
        checked(lambda a, b, bias, gemm=gemm: gemm(a, b, ta, tb, bias), a, b, bias)
        checked(lambda a, gemm=gemm: gemm(a, b.detach(), ta, tb, None), a)
        checked(lambda b, gemm=gemm: gemm(a.detach(), b, ta, tb, None), b)


@on_devices
@needs_draws
def test_gradients(device):
    x, bias, label, seed = operands(device)
    for p in (0.0, 0.4):
        for act in ("none", "relu"):
            checked(lambda x, bias, p=p, act=act: bias_act_dropout(x, bias, act, p, seed=seed), x, bias)
            checked(lambda x, bias, p=p, act=act: dense_ops.bias_act_dropout.op(x, bias, act, p, seed), x, bias)
        checked(lambda x, p=p: bias_act_dropout(x, None, "relu", p, seed=seed), x)
        checked(lambda bias, p=p: bias_act_dropout(x.detach(), bias, "relu", p, seed=seed), bias)
    checked(lambda x: nll(x, label), x)
    checked(lambda x: nll(x, label, counted=17.0), x)
    checked(lambda x: dense_ops.nll.op(x, label)[0], x)


@on_devices
@needs_draws
def test_torch_accepts_the_operators(device):
    x, bias, label, seed = operands(device)
    dy, weight = drawn(6, 5, seed=3, device=device), drawn(5, 3, seed=5, device=device)
    opcheck = torch.library.opcheck
    opcheck(dense_ops.gemm.op, (x, weight))
    opcheck(dense_ops.gemm.op, (dy, x, True, False, bias))
    opcheck(dense_ops.gemm.op, (weight, dy, True, True))
    opcheck(dense_ops.bias_act_dropout.op, (x, bias, "relu", 0.4, seed, 3, 9))
    opcheck(dense_ops.bias_act_dropout.op, (x, None, "none", 0.4, seed))
    opcheck(dense_ops.bias_act_dropout.op, (x, bias, "relu", 0.0, None))
    for act, y in (("none", None), ("relu", x.detach().relu())):
        for summed in (False, True):
            opcheck(dense_ops.bias_act_dropout_backward.op, (dy, y, act, 0.4, seed, 3, 9, summed))
    opcheck(dense_ops.nll.op, (x, label))
    opcheck(dense_ops.nll.op, (x, label, 17.0))
    sums = torch.tensor([5.0, 4.0], device=device, dtype=torch.float64)
    dloss = torch.tensor(0.7, device=device, dtype=torch.float64, requires_grad=True)
    opcheck(dense_ops.nll_backward.op, (dloss, x, label, sums, 0.0))


def step_of(x, weight, bias, label, mask):
    rows = bias_act_dropout(linear(x, weight.T), bias, "relu", 0.5)
    return nll(bias_act_dropout(rows @ weight.T, None, "none", 0.3), label, mask)


@on_devices
@needs_draws
def test_compiled_as_one_graph(device):
    """By the compiler's first half; the second, Inductor, where a GPU makes it quick."""
    check_compiled(device, "aot_eager")


@needs_draws
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_compiled_by_inductor():
    check_compiled("cuda", "inductor")


def check_compiled(device, backend):
    torch._dynamo.reset()
    x, weight = drawn(40, 8, seed=1, device=device), drawn(8, 6, seed=2, device=device)
    bias, label = drawn(6, seed=3, device=device), torch.arange(40, device=device) % 8
    mask = label > 2
    compiled = torch.compile(step_of, fullgraph=True, backend=backend)
    loss = compiled(x, weight, bias, label, mask)
    assert all(each.abs().sum() > 0 for each in torch.autograd.grad(loss, (x, weight, bias)))
    if backend == "aot_eager":  # draws as without a compiler
        torch.manual_seed(4)
        loss = compiled(x, weight, bias, label, mask)
        found = torch.autograd.grad(loss, (x, weight, bias))
        torch.manual_seed(4)
        expected = step_of(x, weight, bias, label, mask)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(found, torch.autograd.grad(expected, (x, weight, bias)))


@on_devices
def test_autocast_keeps_types_and_makes_the_loss_in_32_bits(device):
    x, label = drawn(9, 4, seed=1, device=device, dtype=torch.float32), torch.arange(9, device=device) % 4
    with torch.autocast(device, torch.bfloat16):
        rows = bias_act_dropout(x.bfloat16(), None, "relu")
        loss = nll(rows, label)
    assert (rows.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
    loss.backward()
    assert x.grad.dtype == torch.float32


# ---- layers, networks


@on_devices
@pytest.mark.parametrize("shape", [(6, 4), (4, 6)], ids=["narrower", "wider"])
@pytest.mark.parametrize("name", ["GCNConv", "SAGEConv", "GINConv", "GATConv"])
def test_layers_finish_as_they_are_asked(device, name, shape):
    """Of each layer, the result of finish, which gets what the bias is added to, and the bias."""
    graph = Graph(drawn_edges(30, 30, 90, 1, device), 30)
    arguments = (torch.nn.Linear(*shape),) if name == "GINConv" else shape
    layer = getattr(sley.nn, name)(*arguments).to(device)
    torch.nn.init.normal_(next(each for key, each in layer.named_parameters() if key.endswith("bias")))
    x = drawn(30, shape[0], seed=2, device=device, dtype=torch.float32).detach()
    given = []

    def finish(rows, bias):
        given.append(bias)
        return bias_act_dropout(rows, bias, "relu")

    torch.testing.assert_close(layer(x, graph, finish=finish), layer(x, graph).relu())
    assert len(given) == 1 and (given[0] is None) == (name == "GINConv")


class PlainNet(sley.nn.Net):
    """As a network of torch's own passes has it."""

    def forward(self, x, graph):
        for number, conv in enumerate(self.convs):
            x = self.act(x) if number else x
            x = conv(functional.dropout(x, self.dropout, self.training), graph)
        return x


@on_devices
@pytest.mark.parametrize("own", [False, True], ids=["", "products"])
@pytest.mark.parametrize("model", sley.nn.MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_networks_have_the_numbers_of_torch_without_dropout(monkeypatch, device, model, dtype, own):
    if own:
        monkeypatch.setattr(convs, "_product", linear)
    graph = Graph(drawn_edges(50, 50, 200, 1, device), 50)
    x, label = drawn(50, 6, seed=2, device=device, dtype=dtype), torch.arange(50, device=device) % 3
    mask = label != 1
    found = []
    for kind in (sley.nn.Net, PlainNet):
        torch.manual_seed(1)
        net = kind(model, 6, 8, 3, layers=3, heads=2, dropout=0.0).to(device, dtype)
        logits = net(x, graph)
        plain = functional.cross_entropy(logits[mask], label[mask])
        loss = nll(logits, label, mask) if kind is sley.nn.Net else plain
        found.append((loss, torch.autograd.grad(loss, (x, *net.parameters()))))
    rtol, atol = (1e-4, 1e-5) if dtype == torch.float32 else (1e-9, 1e-12)
    torch.testing.assert_close(*found, rtol=rtol, atol=atol)


@on_devices
@needs_draws
def test_networks_drop_by_the_seed_of_torch_and_not_in_evaluation(device):
    graph = Graph(drawn_edges(50, 50, 200, 1, device), 50)
    x = drawn(50, 6, seed=2, device=device, dtype=torch.float32).detach()
    net = sley.nn.Net("gcn", 6, 8, 3, dropout=0.5).to(device)
    made = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        made.append(net(x, graph))
    assert torch.equal(made[0], made[2]) and not torch.equal(made[0], made[1])
    net.eval()
    assert torch.equal(net(x, graph), net(x, graph))


# ---- mistakes


def test_mistakes_are_told():
    x, seed = torch.zeros(4, 3), seed_of(1, "cpu")
    for wrong, message in (
            (lambda: bias_act_dropout(x[0], act="relu"), r"x has shape \(3,\): expected \(rows, columns\)"),
            (lambda: bias_act_dropout(x, act="gelu"), "no activation 'gelu': take none or relu"),
            (lambda: bias_act_dropout(x, p=1.0), "p is 1.0: it must be 0 or more and less than 1"),
            (lambda: bias_act_dropout(x, p=-0.1), "p is -0.1"),
            (lambda: bias_act_dropout(x, p=0.5, seed=seed.int()),
             r"seed has shape \(1,\), torch.int32 on cpu: expected \(1,\), torch.int64"),
            (lambda: dense_ops.bias_act_dropout(x, None, "none", 0.5, None, 0, 0), "there is no seed"),
            (lambda: bias_act_dropout(x, torch.zeros(4), "relu"), r"bias has shape \(4,\).*expected \(3,\)"),
            (lambda: bias_act_dropout(x, torch.zeros(3).double(), "relu"), "torch.float64"),
            (lambda: bias_act_dropout(x.int(), act="relu"), "there are no values of torch.int32"),
            (lambda: linear(x, torch.zeros(2, 4)), "A has 3 columns of torch.float32 on cpu, and B 4 rows"),
            (lambda: linear(x, torch.zeros(2, 3).double()), "B 3 rows of torch.float64"),
            (lambda: linear(x, torch.zeros(2, 3), torch.zeros(3)), r"bias has shape \(3,\).*expected \(2,\)"),
            (lambda: nll(x[0], torch.zeros(4).long()), r"logits has shape \(3,\)"),
            (lambda: nll(x, torch.zeros(3).long()), r"labels has shape \(3,\)"),
            (lambda: nll(x[:, :0], torch.zeros(4).long()), "there are no classes")):
        with pytest.raises(sley.SleyError, match=message):
            wrong()
