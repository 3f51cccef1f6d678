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
from sley.torch import Graph, dense_ops, ops, spmm  # noqa: E402
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
        one = [lambda x, f=f: f(*given[:place], x, *given[place + 1:]) for f in (row.function, row.dense)]
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
        for of in (lambda f: f, lambda f: grad(scalar(f), chosen)):
            near(*(vmap(of(each), dims)(*operands) for each in (row.function, row.dense)))
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
        near(torch.autograd.grad(found.square().sum(), operands), torch.autograd.grad(expected.square().sum(), operands))


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
