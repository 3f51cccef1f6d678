# SPDX-License-Identifier: Apache-2.0
"""The operators of sley.torch against dense products, their gradients, and what torch asks of an operator."""
import copy
import gc
import pickle
import threading

import pytest

torch = pytest.importorskip("torch")

from torch_support import dense, drawn, drawn_edges, on_devices  # noqa: E402

import sley  # noqa: E402
import sley.torch  # noqa: E402
from sley.torch import Graph, edge_softmax, gat, ops, sddmm, spmm  # noqa: E402

SHAPES = [(0, 0, 0), (1, 1, 0), (1, 1, 1), (7, 5, 19), (60, 60, 400), (33, 90, 150)]  # sources, targets, edges
on_shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda each: "x".join(map(str, each)))
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def graph_of(shape, device, seed=1, **options):
    sources, targets, edges = shape
    return Graph(drawn_edges(sources, targets, edges, seed, device), (sources, targets), **options)


def assert_near(found, expected):
    torch.testing.assert_close(found.double(), expected.double(), rtol=TOLERANCE[found.dtype] * 4,
                               atol=TOLERANCE[found.dtype] * 8)


# ---- values


@on_devices
@on_shapes
@pytest.mark.parametrize("k", [0, 1, 5, 32])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_spmm_is_a_product_with_the_adjacency(device, shape, k, dtype):
    graph = graph_of(shape, device)
    x, y = (drawn(n, k, seed=n, device=device, dtype=dtype).detach() for n in shape[:2])
    assert_near(spmm(graph, x), dense(graph) @ x.double())
    assert_near(spmm(graph, y, transpose=True), dense(graph).T @ y.double())


@on_devices
@on_shapes
@pytest.mark.parametrize("heads", [1, 3])
def test_weights_of_edges_are_taken_in_their_order(device, shape, heads):
    graph = graph_of(shape, device)
    x = drawn(shape[0], heads, 4, seed=2, device=device).detach()
    weight = drawn(shape[2], heads, seed=3, device=device).detach()
    expected = [dense(graph, weight[:, h]) @ x[:, h] for h in range(heads)]
    assert_near(spmm(graph, x, weight), torch.stack(expected, 1))
    if heads == 1:
        assert_near(spmm(graph, x[:, 0], weight[:, 0]), expected[0])


@on_devices
@on_shapes
def test_sddmm_and_softmax_are_given_in_the_order_of_edges(device, shape):
    graph = graph_of(shape, device)
    source, target = graph.edge_index
    u, v = drawn(shape[1], 2, 3, seed=4, device=device).detach(), drawn(shape[0], 2, 3, seed=5, device=device).detach()
    s = sddmm(graph, u, v)
    assert_near(s, (u[target] * v[source]).sum(-1))
    sums = torch.zeros(shape[1], 2, dtype=s.dtype, device=device).index_add(0, target, s.exp())
    assert_near(edge_softmax(graph, s), s.exp() / sums[target])
    assert_near(edge_softmax(graph, s[:, 0]), (s.exp() / sums[target])[:, 0])


@on_devices
@on_shapes
def test_gat_is_what_its_parts_are(device, shape):
    graph = graph_of(shape, device)
    query, key, value = gat_operands(shape, device)
    source, target = graph.edge_index
    p = edge_softmax(graph, torch.nn.functional.leaky_relu(query[target] + key[source], 0.2))
    assert_near(gat(graph, query, key, value), spmm(graph, value, p))


def gat_operands(shape, device):
    sources, targets, _ = shape
    return [drawn(targets, 2, seed=6, device=device), drawn(sources, 2, seed=7, device=device),
            drawn(sources, 2, 3, seed=8, device=device)]


@on_devices
def test_rows_are_read_where_they_lie_and_others_are_copied(device):
    graph = graph_of((60, 60, 400), device)
    x = drawn(60, 20, seed=1, device=device).detach()
    for view in (x[:, 3:11], x.T.contiguous().T, x[::2].repeat(2, 1)[:60], x[:1].expand(60, 20)):
        assert_near(spmm(graph, view), dense(graph) @ view)


# ---- gradients, of the functions and of the operators behind the dispatcher


def checked(function, *arguments):
    assert torch.autograd.gradcheck(function, arguments)
    assert torch.autograd.gradgradcheck(function, arguments)


@on_devices
@pytest.mark.parametrize("shape", [(6, 4, 11), (3, 3, 0)], ids=str)
def test_gradients_of_functions(device, shape):
    graph = graph_of(shape, device)
    sources, targets, edges = shape
    x, y = drawn(sources, 4, seed=1, device=device), drawn(targets, 4, seed=2, device=device)
    weight = drawn(edges, 2, seed=3, device=device)
    checked(lambda x: spmm(graph, x), x)
    checked(lambda y: spmm(graph, y, transpose=True), y)
    checked(lambda x, weight: spmm(graph, x.view(-1, 2, 2), weight), x, weight)
    checked(lambda y, weight: spmm(graph, y.view(-1, 2, 2), weight, transpose=True), y, weight)
    checked(lambda y, x: sddmm(graph, y.view(-1, 2, 2), x.view(-1, 2, 2)), y, x)
    checked(lambda weight: edge_softmax(graph, weight), weight)
    checked(lambda query, key, value: gat(graph, query, key, value), *gat_operands(shape, device))


def operands(device):
    """Of operators on 6 sources, 4 targets and 11 edges."""
    return [drawn(*shape, seed=seed, device=device)
            for seed, shape in enumerate(((6, 4), (4, 4), (11, 2), (4, 2), (6, 6)))]


@on_devices
def test_gradients_of_operators(device):
    graph = graph_of((6, 4, 11), device)
    x, y, weight, query, source = operands(device)
    checked(lambda x: ops.spmm.op(graph.id, x), x)
    checked(lambda x, weight: ops.spmm.op(graph.id, x, weight), x, weight)
    checked(lambda y, weight: ops.spmm.op(graph.id, y, weight, True), y, weight)
    checked(lambda y, x: ops.sddmm.op(graph.id, y, x, 2), y, x)
    checked(lambda weight: ops.edge_softmax.op(graph.id, weight), weight)
    checked(lambda query, source: ops.gat.op(graph.id, query, source, 0.2)[0], query, source)


@on_devices
def test_torch_accepts_the_operators(device):
    graph = graph_of((6, 4, 11), device)
    x, y, weight, query, source = operands(device)
    opcheck = torch.library.opcheck
    opcheck(ops.spmm.op, (graph.id, x, None, False))
    opcheck(ops.spmm.op, (graph.id, y, weight, True))
    opcheck(ops.sddmm.op, (graph.id, y, x, 2))
    opcheck(ops.edge_softmax.op, (graph.id, weight))
    opcheck(ops.edge_softmax_backward.op, (graph.id, weight, weight.detach().requires_grad_()))
    # not test_aot_dispatch_dynamic, which compares the gaps between what is saved, too
    opcheck(ops.gat.op, (graph.id, query, source, 0.2),
            test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))


# ---- compilers, autocast


def everything(graph, x, weight):
    y = torch.relu(spmm(graph, x) * 2)
    s = edge_softmax(graph, sddmm(graph, y.view(-1, 2, 3), x.view(-1, 2, 3)) + weight)
    z = spmm(graph, y.view(-1, 2, 3), s)
    return gat(graph, z[:, :, 0], z[:, :, 1], z).sum(-1)


@on_devices
def test_compiled_as_one_graph(device):
    """By the compiler's first half; the second, Inductor, where a GPU makes it quick (test_compiled_by_inductor)."""
    check_compiled(device, "aot_eager")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_compiled_by_inductor():
    check_compiled("cuda", "inductor")


def check_compiled(device, backend):
    torch._dynamo.reset()
    compiled = torch.compile(everything, fullgraph=True, backend=backend)
    for seed in (1, 2):  # another graph is compiled anew
        graph = graph_of((60, 60, 400), device, seed)
        x, weight = drawn(60, 6, seed=3, device=device), drawn(400, 2, seed=4, device=device)
        found, expected = compiled(graph, x, weight), everything(graph, x, weight)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(torch.autograd.grad(found.sum(), (x, weight)),
                                   torch.autograd.grad(expected.sum(), (x, weight)))


@on_devices
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_multiplies_in_16_bits_and_makes_softmax_in_32(device, dtype):
    graph = graph_of((60, 60, 400), device)
    x = drawn(60, 6, seed=1, device=device, dtype=torch.float32)
    weight = drawn(400, 2, seed=2, device=device, dtype=torch.float32)
    with torch.autocast(device, dtype):
        y = spmm(graph, x)
        p = edge_softmax(graph, sddmm(graph, x.view(-1, 2, 3), x.view(-1, 2, 3)))
        z = spmm(graph, x.view(-1, 2, 3), weight)
        t = gat(graph, x[:, :2], x[:, 2:4], x.view(-1, 2, 3))
    assert (y.dtype, p.dtype, z.dtype, t.dtype) == (dtype, torch.float32, dtype, dtype)
    assert_near(y, dense(graph) @ x.to(dtype).double())
    (y.sum() + z.sum()).backward()
    assert x.grad.dtype == weight.grad.dtype == torch.float32
    assert spmm(graph, x).dtype == torch.float32


# ---- threads, lives, mistakes


@on_devices
def test_python_threads_may_share_a_graph(device):
    graph = graph_of((60, 60, 400), device)
    found, x = {}, [drawn(60, 8, seed=seed, device=device).detach() for seed in range(4)]

    def work(number):
        for _ in range(50):
            found[number] = spmm(graph, x[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number in range(4):
        assert_near(found[number], dense(graph) @ x[number])


def test_what_a_graph_owns_is_not_copied():
    graph = Graph(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    for each in (graph.pattern, graph.pattern.rank):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                way(each)


def test_a_graph_ends_with_its_owner():
    graph = graph_of((7, 5, 19), "cpu")
    x, number = drawn(7, 2, seed=1, dtype=torch.float32), graph.id
    y = spmm(graph, x)
    del graph
    gc.collect()
    with pytest.raises(sley.SleyArgumentError, match=f"there is no graph {number}"):
        y.sum().backward()


def test_mistakes_are_told():
    graph = graph_of((7, 5, 19), "cpu")
    x = torch.zeros(7, 4)
    for wrong, message in ((lambda: spmm(graph, x[:6]), r"x has shape \(6, 4\) on cpu: expected \(7, any\)"),
                           (lambda: spmm(graph, x.int()), "there are no values of torch.int32"),
                           (lambda: spmm(graph, x, torch.ones(18)), r"weight has shape \(18,\): expected \(19,\)"),
                           (lambda: spmm(graph, x, torch.ones(19).double()), "different types"),
                           (lambda: spmm(graph, x, torch.ones(19, 3)), "are not 3 heads"),
                           (lambda: sddmm(graph, x[:5], x[:, :3]), "have 4 and 3 values"),
                           (lambda: Graph(torch.tensor([[0, 9], [1, 1]]), 5), "edge_index has nodes 0 to 9"),
                           (lambda: Graph(torch.tensor([[0, -1], [1, 1]]), 5), "edge_index has nodes -1 to 1"),
                           (lambda: Graph(torch.zeros(3, 2)), r"shape \(3, 2\): expected \(2, edges\)"),
                           (lambda: Graph(torch.zeros(2, 2)), "is of torch.float32"),
                           (lambda: Graph(torch.zeros(2, 2).long(), (1, 2), norm="gcn"), "needs one set of nodes"),
                           (lambda: Graph(torch.zeros(2, 2).long(), 1, norm="no"), "norm is 'no'")):
        with pytest.raises(sley.SleyError, match=message):
            wrong()


# ---- GPUs

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@needs_gpu
def test_calls_go_to_the_current_stream():
    graph = graph_of((4000, 4000, 60000), "cuda")
    x = drawn(4000, 64, seed=1, device="cuda", dtype=torch.float32).detach()
    expected = spmm(graph, x)
    spmm(graph, torch.zeros_like(x))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for _ in range(20):  # the copy is late, and only the stream's order makes the product wait for it
        late = torch.zeros_like(x)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(2_000_000)
            late.copy_(x)
            found = spmm(graph, late)
        torch.cuda.current_stream().wait_stream(stream)
        assert torch.equal(found, expected)


@needs_gpu
def test_a_step_is_captured_and_replayed():
    graph = graph_of((500, 500, 4000), "cuda")
    x = drawn(500, 6, seed=1, device="cuda", dtype=torch.float32)
    weight = drawn(4000, 2, seed=2, device="cuda", dtype=torch.float32)

    def step():
        return torch.autograd.grad(everything(graph, x, weight).sum(), (x, weight))

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        found = step()
    with torch.no_grad():
        x.copy_(drawn(500, 6, seed=5, device="cuda", dtype=torch.float32))
    captured.replay()
    torch.testing.assert_close(found, step())


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than 2 GPUs")
def test_a_graph_works_on_its_gpu_and_leaves_the_current_one():
    torch.cuda.set_device(0)
    graph = graph_of((60, 60, 400), "cuda:1")
    x = drawn(60, 8, seed=1, device="cuda:1")
    y = spmm(graph, x)
    y.sum().backward()
    assert y.device == x.grad.device == torch.device("cuda", 1) and torch.cuda.current_device() == 0
    assert_near(y, dense(graph) @ x)
