# SPDX-License-Identifier: Apache-2.0
"""Derivatives and transforms of all operators, in the one table of torch_operators.py, beside those of dense torch
operators; docs/TORCH.md says what each can do, and is asked here."""
import functools
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402
from torch_operators import ACROSS_RANKS, GRAPH, OTHERS, ROWS, A  # noqa: E402
from torch_support import drawn, drawn_edges, needs_draws  # noqa: E402

import sley  # noqa: E402
import sley.nn  # noqa: E402
import sley.torch  # noqa: E402
from sley.torch import Graph, spmm  # noqa: E402
from sley.torch._operator import Operator  # noqa: E402

pytestmark = needs_draws
NAMES = [each.name for each in ROWS]
near = functools.partial(torch.testing.assert_close, rtol=1e-10, atol=1e-11)


def plain(row, seed=1):
    return [each.detach() for each in row.operands(seed)]


def scalar(function):
    """With derivatives of all orders that are not 0."""
    return lambda *operands: (function(*operands) * (1 + function(*operands).detach().cos())).square().sum()


# ---- measures: each returns where the operator is right


def backward(row):
    assert torch.autograd.gradcheck(row.function, row.operands(), check_batched_grad=True)
    near(row.function(*row.operands()), row.dense(*row.operands()))
    given = plain(row)
    found, expected = vjp(row.function, *given), vjp(row.dense, *given)
    dy = drawn(*found[0].shape, seed=5).detach()
    near(found[1](dy), expected[1](dy))
    near(jacrev(row.function, tuple(range(len(given))))(*given), jacrev(row.dense, tuple(range(len(given))))(*given))
    near(grad(scalar(row.function))(*given), grad(scalar(row.dense))(*given))


def double_backward(row):
    assert torch.autograd.gradgradcheck(row.function, row.operands(), fast_mode=True)
    given, places = plain(row), tuple(range(len(row.shapes)))
    near(hessian(scalar(row.function), places)(*given), hessian(scalar(row.dense), places)(*given))
    near(jacrev(jacrev(scalar(row.function)))(*given), jacrev(jacrev(scalar(row.dense)))(*given))


def forward_mode(row):
    assert torch.autograd.gradcheck(row.function, row.operands(), check_forward_ad=True, check_backward_ad=False,
                                    check_undefined_grad=False, check_batched_forward_grad=True)
    given, tangents = plain(row), tuple(plain(row, 7))
    expected = jvp(row.dense, tuple(given), tangents)
    near(jvp(row.function, tuple(given), tangents), expected)
    with forward_ad.dual_level():  # without torch.func
        duals = [forward_ad.make_dual(*each) for each in zip(given, tangents, strict=True)]
        near(tuple(forward_ad.unpack_dual(row.function(*duals))), expected)
    for place in range(len(given)):  # one operand has a tangent
        one = [lambda x, f=f, i=place: f(*given[:i], x, *given[i + 1:]) for f in (row.function, row.dense)]
        near(*(jvp(each, (given[place],), (tangents[place],)) for each in one))
        near(*(jacfwd(each)(given[place]) for each in one))
    # tangents of tangents, which torch's own rules of an autograd.Function take for 0, and gradients of them
    twice = [lambda *x, f=f: jvp(f, x, tangents)[1] for f in (row.function, row.dense)]
    near(*(jvp(each, tuple(given), tangents)[1] for each in twice))
    near(*(grad(lambda *x, f=f: f(*x).square().sum())(*given) for f in twice))


def batched(row):
    batches = [torch.stack(each, -1) for each in zip(*(plain(row, seed) for seed in (1, 2, 3)), strict=True)]
    given = plain(row)
    choices = [tuple(range(len(given))), *((each,) for each in range(len(given)))]
    for chosen in choices:  # all operands are batches, or one
        operands = [batches[i] if i in chosen else given[i] for i in range(len(given))]
        dims = tuple(-1 if i in chosen else None for i in range(len(given)))
        near(*(vmap(each, dims)(*operands) for each in (row.function, row.dense)))
        near(*(vmap(grad(scalar(each), chosen), dims)(*operands) for each in (row.function, row.dense)))
    twice = [vmap(vmap(each)) for each in (row.function, row.dense)]
    operands = [each.movedim(-1, 0).unsqueeze(1).repeat(1, 2, *(1,) * (each.dim() - 1)) for each in batches]
    near(*(each(*operands) for each in twice))
    total = [lambda *all, f=f: vmap(f)(*all).square().sum() for f in (row.function, row.dense)]
    near(*(grad(each)(*(every.movedim(-1, 0) for every in batches)) for each in total))


@pytest.mark.filterwarnings("ignore:`torch.jit")
def traced(row):
    made = torch.jit.trace(row.function, tuple(plain(row)), check_trace=False)
    recorded = torch.jit.trace(row.function, tuple(row.operands()), check_trace=False)
    for each in (made, recorded):
        operands = row.operands(4)
        found, expected = each(*operands), row.dense(*operands)
        near(found, expected)
        near(*(torch.autograd.grad(y.square().sum(), operands) for y in (found, expected)))


@functools.cache
def together(kind):
    """All operators in one program of a compiler's: what it returns for each."""
    def program(*operands):
        given = iter(operands)
        return [row.function(*(next(given) for _ in row.shapes)) for row in ROWS]

    operands = [each for row in ROWS for each in row.operands(6)]
    if kind == "export":
        class Program(torch.nn.Module):
            def forward(self, *operands):
                return program(*operands)

        made = torch.export.export(Program(), tuple(each for row in ROWS for each in plain(row)), strict=False).module()
        return dict(zip(NAMES, made(*operands), strict=True)), operands
    torch._dynamo.reset()
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    return dict(zip(NAMES, compiled(*operands), strict=True)), operands


def compiled_by(kind, row):
    found, operands = together(kind)
    first = sum(len(each.shapes) for each in ROWS[:NAMES.index(row.name)])
    given = operands[first:first + len(row.shapes)]
    near(found[row.name], row.dense(*given))
    near(torch.autograd.grad(found[row.name].square().sum(), given, retain_graph=True),
         torch.autograd.grad(row.dense(*given).square().sum(), given))


MEASURES = {"backward": backward, "double backward": double_backward, "forward mode": forward_mode, "vmap": batched,
            "trace": traced, "compile": functools.partial(compiled_by, "compile"),
            "export": functools.partial(compiled_by, "export")}


# ---- the table of the document


def documented():
    """For each operator of the table, for each column, yes or refused."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "TORCH.md").read_text()
    lines = re.search(r"^\| operator \|.*\n(?:\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    columns = [each.strip() for each in lines[0].strip("|").split("|")][1:]
    made = {}
    for line in lines[2:]:
        names, *cells = (each.strip() for each in line.strip("|").split("|"))
        for name in re.findall(r"`([^`]+)`", names):
            made[name] = dict(zip(columns, cells, strict=True))
    return made


def test_every_operator_has_a_row():
    """Of the table here and of that of the document."""
    rows = {each.name.split(",")[0] for each in ROWS} | ACROSS_RANKS
    assert {*sley.torch.__all__, *sley.nn.__all__} <= rows | OTHERS and not rows & OTHERS
    assert set(Operator.all) <= rows
    registered = {each.split("::")[1].split(".")[0] for each in torch._C._dispatch_get_all_op_names()
                  if each.startswith("sley::")}
    assert registered == set(Operator.all)
    assert set(documented()) == {*NAMES, *ACROSS_RANKS}
    assert all(set(each) == set(MEASURES) for each in documented().values())


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
@pytest.mark.parametrize("measure", MEASURES)
def test_operators_do_what_the_document_says(row, measure):
    said = documented()[row.name][measure]
    assert said in ("yes", "refused")
    if said == "yes":
        MEASURES[measure](row)
        return
    with pytest.raises((RuntimeError, sley.SleyError), match=row.name.split(",")[0]):
        MEASURES[measure](row)


# ---- what the table does not have

X, T = drawn(6, 2, seed=21).detach(), drawn(6, 2, seed=22).detach()


def square(x):
    return spmm(GRAPH, x * x)


def test_transforms_of_compiled_functions_and_the_reverse():
    expected = A @ (2 * X * T)
    compiled = torch.compile(square, backend="aot_eager")
    near(jvp(compiled, (X,), (T,))[1], expected)
    near(torch.compile(lambda x, t: jvp(square, (x,), (t,))[1], backend="aot_eager", fullgraph=True)(X, T), expected)
    near(functionalize(square)(X), A @ (X * X))
    near(grad(functionalize(lambda x: square(x).sum()))(X), (2 * X) * A.sum(0)[:, None])
    with pytest.raises(NotImplementedError, match="sley::spmm: torch.func.functionalize around"):
        functionalize(grad(lambda x: square(x).sum()))(X)
    with forward_ad.dual_level():
        near(forward_ad.unpack_dual(compiled(forward_ad.make_dual(X, T))).tangent, expected)
        with pytest.raises(RuntimeError, match="dual"):  # torch compiles nothing for such tensors
            torch.compile(lambda x: square(x) + 1, backend="aot_eager", fullgraph=True)(forward_ad.make_dual(X, T))


@pytest.mark.parametrize("pre_dispatch", [False, True])
def test_make_fx_records_the_operators(pre_dispatch):
    from torch.fx.experimental.proxy_tensor import make_fx

    near(make_fx(square, pre_dispatch=pre_dispatch)(X)(T), square(T))


@pytest.mark.filterwarnings("ignore")
def test_script_and_trace_refuse_what_they_would_keep():
    kept = [Graph(GRAPH.edge_index, GRAPH.shape)]  # whose plans are made while torch traces
    traced = torch.jit.trace(lambda x: spmm(kept[0], x), (X,))
    near(traced(T), A @ T)
    kept.clear()
    with pytest.raises(RuntimeError, match="there is no graph .* in this process"):
        traced(T)
    with pytest.raises((RuntimeError, torch.jit.frontend.NotSupportedError)):
        torch.jit.script(square)
    edges, layer = drawn_edges(6, 6, 9, 1), sley.nn.GCNConv(2, 2).double().requires_grad_(requires_grad=False)
    for each in (lambda x, edges: spmm(Graph(edges, 6), x), layer):
        with pytest.raises(sley.SleyUnsupportedError, match="torch.jit.trace would keep the values that edge_index"):
            torch.jit.trace(each, (X, edges))


def test_a_graph_is_not_made_of_what_a_transform_follows():
    edges, weight = drawn_edges(6, 6, 9, 1), torch.rand(9, dtype=torch.float64)
    layer = sley.nn.SAGEConv(2, 2).double()
    graph = Graph(edges, 6)
    near(grad(lambda x, edges: layer(x, edges).sum())(X, edges), grad(lambda x: layer(x, graph).sum())(X))

    def of_weight(weight):
        return spmm(Graph(edges, 6, edge_weight=weight), X).sum()

    for wrong in (lambda: grad(of_weight)(weight), lambda: jvp(of_weight, (weight,), (weight,))):
        with pytest.raises(sley.SleyUnsupportedError, match="edge_weight of a Graph is constant, and a derivative"):
            wrong()
    with pytest.raises(sley.SleyUnsupportedError, match="edge_index is batched by torch.vmap"):
        vmap(lambda edges: layer(X, edges))(torch.stack((edges, edges)))


def test_compiled_layers_follow_their_graph():
    """Other graphs, and other edges, of the same shape."""
    edges = drawn_edges(6, 6, 9, 1)
    layer = sley.nn.SAGEConv(2, 2).double()
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager")
    graphs = [Graph(edges, 6), Graph(edges.flip(0), 6)]
    for each in (*graphs, *graphs, edges, edges.flip(0).contiguous()):
        near(compiled(X, each), layer(X, each))


def test_a_graph_keeps_what_it_was_made_of():
    edges, weight = drawn_edges(6, 6, 9, 1), torch.rand(9, dtype=torch.float64)
    graph = Graph(edges, 6, edge_weight=weight)
    expected, normalised = spmm(graph, X), spmm(Graph(edges, 6, edge_weight=weight, norm="gcn"), X)
    weight.mul_(2).sub_(1)
    edges.zero_()
    for k in (1, 2):  # a plan that is made before, and one that is made after
        near(spmm(graph, X[:, :k]), expected[:, :k])
    near(spmm(graph.derived("gcn"), X), normalised)
    graph.edge_index.zero_()
    with pytest.raises(sley.SleyArgumentError, match="edge_index of a Graph was changed in place"):
        graph.derived("loops")


def test_saved_tensors_have_versions():
    label = torch.tensor([0, 1, 0, 1, 0, 1], dtype=torch.int32)
    weight = drawn(11, seed=1)
    for function, place in ((lambda x: spmm(GRAPH, x, weight), "x"),
                            (lambda x: sley.torch.bias_act_dropout(x, act="relu"), "y"),
                            (lambda x: sley.torch.linear(x, drawn(3, 2, seed=1)), "x"),
                            (lambda x: sley.torch.nll(x, label), "label")):
        x = X.clone().requires_grad_() * 1
        y = function(x)
        with torch.no_grad():
            {"x": x, "y": y, "label": label}[place].add_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_tensors_that_are_not_plain_memory():
    negated = torch.view_as_complex(torch.stack((X, T), -1)).conj().imag  # a view whose sign is changed when it is read
    assert negated.is_neg()
    near(spmm(GRAPH, negated), A @ -T)
    near(sley.torch.linear(negated, T), -T @ T.T)
    near(spmm(GRAPH, torch._efficientzerotensor(6, 2, dtype=torch.float64)), torch.zeros(4, 2, dtype=torch.float64))
    near(sley.torch.linear(X.to("meta"), T.to("meta")).shape, torch.Size((6, 6)))
    near(spmm(GRAPH, T.new_ones(()).expand(6, 2)), A @ torch.ones_like(T))
    with torch.inference_mode():
        near(spmm(GRAPH, X), A @ X)
        graph = Graph(GRAPH.edge_index, GRAPH.shape)
    near(grad(lambda x: spmm(graph, x).sum())(X), A.T @ torch.ones(4, 2, dtype=torch.float64))
    for wrong, message in ((lambda: spmm(GRAPH, X.to_sparse()), "spmm: an operand is of layout torch.sparse_coo"),
                           (lambda: sley.torch.linear(X, X.to_sparse_csr()), "gemm: an operand is of layout"),
                           (lambda: spmm(GRAPH, X + 0j), "there are no values of torch.complex128"),
                           (lambda: spmm(GRAPH, X.to("meta")), r"x has shape \(6, 2\) on meta"),
                           (lambda: Graph(GRAPH.edge_index, (6, 4), edge_weight=torch.ones(11) + 0j), "expected real"),
                           (lambda: sley.torch.nll(X, X[:, 0]), "labels are of torch.float64: expected whole"),
                           (lambda: sley.torch.nll(X, X[:, 0].long(), counted=0), "counted is 0"),
                           (lambda: sley.torch.bias_act_dropout(X, X[:, :1]), r"bias has shape \(6, 1\)"),
                           (lambda: sley.torch.bias_act_dropout(X, p=0.5, stream=2**32), "stream is 4294967296")):
        with pytest.raises(sley.SleyError, match=message):
            wrong()


def test_autocast_and_transforms():
    """Tangents and gradients have the types that torch's own products give them."""
    x, t = X.float(), T.float()
    with torch.autocast("cpu", torch.bfloat16):
        found = jvp(lambda x: spmm(GRAPH, x), (x,), (t,))
        assert [each.dtype for each in found] == [torch.bfloat16] * 2
        near(found[1], (A.float() @ t.bfloat16().float()).bfloat16(), rtol=1e-2, atol=1e-2)
        assert grad(lambda x: spmm(GRAPH, x).float().sum())(x).dtype == torch.float32
        assert jvp(lambda s: sley.torch.edge_softmax(GRAPH, s), (x[:, :1].repeat(2, 1)[:11],) * 1,
                   (t[:, :1].repeat(2, 1)[:11],))[1].dtype == torch.float32


def test_dropout_under_vmap_draws_as_it_is_asked():
    both = torch.ones(2, 40, 5, dtype=torch.float64)
    drop = lambda x: sley.torch.bias_act_dropout(x, p=0.5)  # noqa: E731
    same, different = (vmap(drop, randomness=each)(both) for each in ("same", "different"))
    assert torch.equal(same[0], same[1]) and not torch.equal(different[0], different[1])
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(drop)(both)
