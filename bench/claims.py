# SPDX-License-Identifier: Apache-2.0
"""The table of the claims of docs/PERFORMANCE.md: for each claim its text, its files below bench/results, the code that these
measure, and the command. bench/report.py shows a claim only while that code is unchanged since its files were measured."""
import collections
import dataclasses
import glob
import os
from typing import Callable

from tables import geomean, gpu, load, networks, ops, read_lines, spgemm
from tables.kernels import BANDS

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
CUDA, CPU = "src/device/cuda/", "src/device/cpu/"
# Patterns of fnmatch, in which * includes "/"; patterns after ! are excluded from those before.
SPMM_CPU = ["src/device/figures/cores.c", CPU + "*spmm*", CPU + "*bundles*", CPU + "*arith*", CPU + "*lanes*", CPU + "*values_*", "!*update*"]
SPMM_GPU = [CUDA + "*spmm*", CUDA + "*window*", CUDA + "*hybrid*", CUDA + "*fragments.cuh", CUDA + "*values.cuh", "src/device/chunks.*",
            "src/device/window_model.*", "src/device/figures/hopper.c", "src/device/figures/gpu.c", "!*rowwise*", "!*cusparse*", "!*graph*", "!*update*"]
GRAPH_GPU = [CUDA + "*sddmm*", CUDA + "*attention*", CUDA + "*aggregate*", CUDA + "*graph*", CUDA + "*values.cuh"]
GRAPH_CPU = [CPU + "*graph*", CPU + "*aggregate*", CPU + "*attention*", CPU + "*sddmm*", CPU + "*edge_softmax*", CPU + "*exps*"]
SPGEMM_GPU = [CUDA + "*spgemm*", "!*cusparse*"]
SPGEMM_CPU = [CPU + "*spgemm*", "src/ops/spgemm.c"]
SEVERAL_GPUS = SPMM_GPU + ["src/exec/*", "src/algo/algo_halo*", "src/algo/pass*", CUDA + "*pull*"]
COLLECTIVE = ["src/collective/*", CUDA + "*compress*", CUDA + "*sparse_sum*", CUDA + "*reduced.cuh"]
GNN = ["src/gnn/*", CUDA + "*gemm*", "src/device/figures/hopper.c"] + GRAPH_GPU
PLANS = ["src/plan/*", "src/algo/algo_*", "src/algo/pass*", "src/predict/*"]
LINKS = ["src/exec/*", "src/algo/algo_*", "src/algo/pass*", "src/transport/tcp/*", "src/transport/process/*"]


@dataclasses.dataclass(frozen=True)
class Bar:
    """How many times as fast as the rival Sley is, in each case."""
    label: str
    rival: str
    ratios: list

    @property
    def mean(self):
        return geomean(self.ratios)

    @property
    def short(self):
        return f"{self.mean:.2f} times as fast as {self.rival}"

    @property
    def words(self):
        """The text after "Sley is"."""
        return (self.short + (f" ({len(self.ratios)} cases, {min(self.ratios):.2f} to {max(self.ratios):.2f})"
                if len(self.ratios) > 1 else ""))


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str               # name of its picture
    what: str               # kind of machine and types of values; first half of the heading
    command: str
    files: tuple            # below bench/results
    code: list              # patterns of the code that they measure
    bars: Callable = None   # returns [Bar], whose first is the claim
    said: Callable = None   # returns a sentence, for a claim without bars
    note: Callable = lambda: ""

    def sentence(self):
        """The sentence that states the claim."""
        return self.said() if self.said else f"Sley is {self.bars()[0].words}"


def in_results(name):
    return os.path.join(RESULTS, name)


def drawn(name, rival):
    """Bars: all cases, then the cases of each range of widths."""
    cases = [(c["k"], c["rival_ms"] / c["sley_ms"]) for c in load(in_results(f"drawn/{name}.json"))["cases"]]
    widths = [(f"k = {low}" if low == high else f"k = {low} to {high}", [x for k, x in cases if low <= k <= high]) for low, high in BANDS]
    return [Bar("all widths", rival, [x for _, x in cases])] + [Bar(label, rival, ratios) for label, ratios in widths]


def fixed_gpu(folder, dtypes):
    rows = gpu.spmm_rows(gpu.load(in_results(folder))["spmm"])
    each = {dtype: [row for row in rows if row[2] == dtype] for dtype in dtypes}
    if len(dtypes) > 1:
        return [Bar(dtype, "cuSPARSE", [row[6] for row in mine]) for dtype, mine in each.items()]
    return [Bar("all widths", "cuSPARSE", [row[6] for row in rows])] + [Bar(f"k = {k}", "cuSPARSE", [row[6] for row in rows if row[1] == k])
                                                                        for k in sorted({row[1] for row in rows})]


GRAPH_WORDS = {"gat": "attention (GAT)", "gatv2": "attention (GATv2)", "max": "maxima of neighbours", "sddmm": "SDDMM"}


def graph_gpu(name):
    """Bars of each operation and rival over all shapes, with the operations in the order of GRAPH_WORDS."""
    found = collections.defaultdict(dict)
    for case in load(in_results(f"ops/{name}.json"))["cases"]:
        for rival, one in case["rivals"].items():
            key, at = (case["op"], rival.removesuffix(", column-major")), (case["graph"], case["k"], case["heads"])
            found[key][at] = min(found[key].get(at, float("inf")), one["ms"] / case["sley"]["ms"])  # the faster of both layouts
    names = {"cusparse": "cuSPARSE", "torch scatter_reduce": "PyTorch", "PyG GATConv": "PyG's GATConv", "PyG GATv2Conv": "PyG's GATv2Conv"}
    return [Bar(GRAPH_WORDS[op], names.get(rival, rival), list(ratios.values()))
            for (op, rival), ratios in sorted(found.items(), key=lambda each: list(GRAPH_WORDS).index(each[0][0]))]


def graph_cpu():
    found = []
    for name in ("cpu_sddmm", "cpu_aggregate", "cpu_attention_kept"):
        run = load(in_results(f"ops/{name}.json"))
        found += [Bar(mean["op"], "the best of numpy, scipy, PyTorch and PyG", [c["ratio"] for c in run["cases"] if c["op"] == mean["op"]])
                  for mean in run["means"]]
    return sorted(found, key=lambda bar: -bar.mean)


def sparse_gpu():
    cases = spgemm.read_gpu(in_results("spgemm/h100.jsonl"))[2]
    out = [Bar(f"{dtype}", "cuSPARSE", [spgemm.best_of(case)["ms"] / case["sley"]["ms"] for (_, kind), case in cases.items()
                                        if kind == dtype and spgemm.best_of(case)]) for dtype in ("f32", "f64")]
    more = spgemm.read_gpu(in_results("spgemm/h100_x4.jsonl"))[2]
    together = [case["together"] for case in more.values() if "together" in case]
    return out + [Bar(f"{together[0]['gpus']} GPUs, f32 and f64", "on one GPU", [one["one_ms"] / one["ms"] for one in together])]


def sparse_cpu():
    cases = load(in_results("spgemm/cpu.json"))["cases"]
    return [Bar(f"beside {spgemm.NAMES[rival]}", spgemm.NAMES[rival], [case["ms"][rival] / case["ms"]["sley"] for case in cases])
            for rival in ("mkl", "graphblas", "scipy")]


def covers():
    means = load(in_results("cpu/covers.json"))["means"]
    ranks, mine, metis = (" and ".join(each) for each in zip(*((str(mean["ranks"]), f"{mean['cover']['cover']:.2f}", f"{mean['metis']['cover']:.2f}")
                                                             for mean in means)))
    return f"{mine} of the halo rows of METIS's parts, on {ranks} ranks; of those parts the covers have {metis}"


def sweep_cases():
    return [case for name in SWEEPS for case in load(in_results(name))["cases"]]


def sweep_note():
    cases = sweep_cases()
    slow = sum(c["time_us"] > 1.05 * c["rival_us"] + 20 for c in cases)
    return (f"Sizes from 1 MiB to 2 GiB, on two and four GPUs. Of {len(cases)} cases with 0 to 99.9 % zeros {slow} take longer than 1.05 times NCCL's dense "
            "collective and 20 us.")


def sweep():
    cases = sweep_cases()
    words = {"allreduce": "all-reduce", "allgather": "all-gather", "reducescatter": "reduce-scatter"}
    return [Bar(f"{word}, {100 * zeros:g} % zeros", "NCCL", [c["rival_us"] / c["time_us"] for c in cases if (c["kind"], c["zeros"]) == (kind, zeros)])
            for zeros in (0.99, 0.9, 0.0) for kind, word in words.items()]


def several_gpus(folder, rival, key):
    ranks = gpu.load(in_results(folder))["ranks"]
    return [Bar(f"{gpus} GPUs", rival, [r[key] for r in ranks if r["gpus"] == gpus and r[key]])
            for gpus in sorted({r["gpus"] for r in ranks if r["gpus"] > 1}, reverse=True)]


def overlapped(name):
    return [Bar("2 GPUs", "NCCL broadcasts and cuSPARSE", [c["broadcast"] for c in gpu.overlap_cases(in_results(name))[1].values()])]


def networks_gpu(name):
    run = load(in_results(f"gnn/{name}.json"))
    pairs = [(case["model"], networks.best_of(case)[1]["ms"] / networks.way(case, "fresh")["ms"]) for case in run["cases"] if networks.best_of(case)[1]]
    return [Bar("all models", "the best of PyTorch and PyG", [x for _, x in pairs])] + [
        Bar(model, "the best of PyTorch and PyG", [x for m, x in pairs if m == model]) for model in dict.fromkeys(m for m, _ in pairs)]


def links():
    rows = [r for r in load(in_results("cpu/hosts.json"))["rows"] if r["algo"] == "cover"]
    return [Bar("cover", "fetching each row (rowwise)", [r["x_first"] for r in rows])]


def of_runs(rows, rival, key):
    return [Bar("all", rival, [key(row) for row in rows])]


def choices():
    n = load(in_results("cpu/planner.json"))["summary"]["all"]
    return f"The choice is within 10 % of the best in {n['near']} of {n['cases']} cases; {n['right']} of {n['predictions']} times are within 25 %"


def growth():
    from tables import growth as g
    fits = [row for path in g.files(in_results("growth")) for row in g.fit_rows(g.read(path)[1]) if row[1] == 32]
    return f"At k = 32 plans take entries^s with s of {min(row[3] for row in fits)} to {max(row[3] for row in fits)}"


def plans_gpu():
    plans = [(r["plan_ms"]["median"], r["ranks"]) for r in gpu.load(in_results("gpu-h100-x4-plans"))["plans"]]
    return "; ".join(f"Plans for {ranks} GPU{'s' if ranks > 1 else ''} take {min(ms for ms, r in plans if r == ranks):.0f} to "
                     f"{max(ms for ms, r in plans if r == ranks):.0f} ms" for ranks in sorted({r for _, r in plans}))


def training():
    runs = {run["name"]: run for run in load(in_results("collective/ddp_gpt.json"))["runs"]}
    return (f"A step takes {runs['sparse']['step_ms']['median']:.1f} ms in place of {runs['dense']['step_ms']['median']:.1f}, and the loss ends at "
            f"{runs['sparse']['loss']:.2f} in place of {runs['dense']['loss']:.2f}")


def accuracy():
    sley, pyg = ({(c["graph"], c["model"]): c[who]["mean"] for c in load(in_results(f"gnn/accuracy_{who}.json"))["cases"] if who in c} for who in ("sley", "pyg"))
    apart = [100 * abs(sley[key] - pyg[key]) for key in sley if key in pyg]
    return f"Accuracies of {len(apart)} models on real graphs differ from PyG's by at most {max(apart):.1f} points"


def fused():
    cases = load(in_results("tensor-h100/update.json"))["cases"]
    return [Bar(dtype, "the fastest two kernels in turn", [c["rival_ms"] / c["fused_ms"] for c in cases if c["dtype"] == dtype])
            for dtype in dict.fromkeys(c["dtype"] for c in cases)]


def tensor_choice():
    runs = load(in_results("tensor-h100/choice.json"))["runs"]
    right = sum(c["hybrid_ms"] <= 1.02 * min(c["stream_ms"], c["tensor_ms"]) for run in runs for c in run["cases"])
    return f"The choice between streams and Tensor cores is right in {right} of {sum(len(run['cases']) for run in runs)} cases"


def beside_dense(names):
    return [Bar(f"{100 * c['zeros']:.4g} % zeros, {c['bytes'] >> 20} MiB", "dense", [c["ratio"]]) for name in names
            for c in load(in_results(f"collective/{name}.json"))["cases"] if c["fixed"] and "ratio" in c]


SWEEPS = ("collective/sweep.json", "collective/sweep_4_allgather.json", "collective/sweep_4_reductions.json")
PETSC = ("cpu/petsc.json", "cpu/petsc_2.json", "cpu/petsc_4.json")
GPU_DRAWN = [f"drawn/{gpu_name}_{dtype}.json" for gpu_name in ("h200", "h100") for dtype in ("f32", "f64", "f16", "bf16")]

CLAIMS = [
    Claim("spmm-cpu", "Sparse times dense on two cores, f32", "bench/spmm_local.py --cases", ("drawn/cpu_f32.json",), SPMM_CPU, lambda: drawn("cpu_f32", "Intel MKL"),
          note=lambda: "Matrices and widths k were drawn after the tuning, with another seed. The threads of MKL spin for 1 ms after a product."),
    Claim("spmm-cpu-f64", "Sparse times dense on two cores, f64", "bench/spmm_local.py --cases", ("drawn/cpu_f64.json",), SPMM_CPU,
          lambda: drawn("cpu_f64", "Intel MKL"), note=lambda: "Drawn in the same way."),
    Claim("spmm-gpu", "Sparse times dense on one GPU, f32", "bench/gpu/run.sh single", ("gpu-h200-f32/spmm_gpu.jsonl",), SPMM_GPU,
          lambda: fixed_gpu("gpu-h200-f32", ["f32"]),
          note=lambda: "The rival is the fastest of cuSPARSE's algorithms in each case. These are the matrices and widths that Sley was tuned to."),
    Claim("graph-gpu", "Attention and other operations of graph networks on one GPU, f32", "bench/ops.py --device cuda", ("ops/h100.json",), GRAPH_GPU, lambda: graph_gpu("h100"),
          note=lambda: "Forward and backward together, but for SDDMM. Graphs and widths were drawn."),
    Claim("spgemm-gpu", "Sparse times sparse on one GPU, f32", "bench/gpu/run.sh spgemm", ("spgemm/h100.jsonl", "spgemm/h100_x4.jsonl"), SPGEMM_GPU, sparse_gpu,
          note=lambda: "The rival is the fastest of cuSPARSE's three algorithms in each case."),
    Claim("spgemm-cpu", "Sparse times sparse on two cores, f64", "bench/spgemm.py", ("spgemm/cpu.json",), SPGEMM_CPU, sparse_cpu),
    Claim("several-gpus", "Sparse times dense on several GPUs of one host, f32", "bench/gpu/run.sh ranks", ("gpu-h100-x4/ranks_gpu.jsonl",), SEVERAL_GPUS,
          lambda: several_gpus("gpu-h100-x4", "NCCL broadcasts and cuSPARSE", "x_broadcast")),
    Claim("two-gpus-drawn", "Sparse times dense on two GPUs, drawn graphs, f32", "bench/gpu/run.sh overlap", ("overlap/h200_f32.jsonl",), SEVERAL_GPUS,
          lambda: overlapped("overlap/h200_f32.jsonl")),
    Claim("collectives", "Collectives of mostly zeros between GPUs", "bench/collective/beside_dense.py sweep", SWEEPS, COLLECTIVE, sweep,
          note=sweep_note),
    Claim("spmm-gpu-drawn", "Sparse times dense on one GPU, drawn cases", "bench/gpu/run.sh single, bench_spmm_gpu --cases", tuple(GPU_DRAWN), SPMM_GPU,
          lambda: drawn("h200_f32", "cuSPARSE")),
    Claim("spmm-gpu-16-64", "Sparse times dense on one GPU, f16, bf16 and f64", "bench/gpu/run.sh single", ("gpu-h200-16-64/spmm_gpu.jsonl",), SPMM_GPU,
          lambda: fixed_gpu("gpu-h200-16-64", ["f16", "bf16", "f64"])),
    Claim("graph-gpu-h200", "Operations of graph networks on one H200", "bench/ops.py --device cuda", ("ops/h200.json",), GRAPH_GPU, lambda: graph_gpu("h200")),
    Claim("graph-cpu", "Operations of graph networks on two cores", "bench/ops.py", tuple(f"ops/{n}.json" for n in ops.FILES), GRAPH_CPU, graph_cpu),
    Claim("cola", "Sparse times dense on several GPUs, beside CoLa", "bench/gpu/run.sh ranks", ("gpu-h200-x4/ranks_gpu.jsonl",), SEVERAL_GPUS,
          lambda: several_gpus("gpu-h200-x4", "CoLa's published code", "x_cola")),
    Claim("spmm-cpu-fixed", "Sparse times dense on two cores, tuned widths", "bench/run.sh", ("cpu/spmm_local.json",), SPMM_CPU,
          lambda: of_runs(load(in_results("cpu/spmm_local.json"))["rows"], "Intel MKL", lambda r: r["ratio"]["mkl"])),
    Claim("links", "Four hosts with links of 1 Gbit/s", "bench/hosts.py", ("cpu/hosts.json",), LINKS, links),
    Claim("ranks", "Two ranks of one thread beside one of two", "bench/run.sh", ("cpu/ranks.json",), LINKS,
          said=lambda: f"Two ranks take {load(in_results('cpu/ranks.json'))['overhead_geomean']:.2f} times as long"),
    Claim("ablation", "Four processes in two workgroups of GPUs", "bench/gpu/run.sh ablation", ("gpu-h200-x4/ablation.jsonl",), SEVERAL_GPUS,
          said=lambda: gpu.ablation_summary(gpu.load(in_results("gpu-h200-x4"))["ablation"])[0].rstrip(".")),
    Claim("petsc", "Sparse times dense over MPI and TCP", "bench/petsc.py", PETSC, LINKS,
          lambda: of_runs([r for name in PETSC for r in load(in_results(name))["rows"]], "PETSc", lambda r: r["ratio"])),
    Claim("planner", "Choices and predicted times on CPUs", "bench/predict.py planner", ("cpu/planner.json",), PLANS, said=choices),
    Claim("predictions", "Choices and predicted times on GPUs", "bench/predict.py gpus", ("gpu-h200-x4/predictions.jsonl",), PLANS,
          said=lambda: gpu.predictions_summary(gpu.load(in_results("gpu-h200-x4"))["predictions"]).rstrip(".").replace("auto's", "The", 1)),
    Claim("untuned", "Predicted times without tuning", "bench/predict.py untuned", tuple(f"cpu/{n}.json" for n in ("predict", "predict_drawn", "predict_more")), PLANS,
          said=lambda: "PREDICTION.md has them"),
    Claim("plans", "Plans on GPUs", "bench/gpu/run.sh plans", ("gpu-h100-x4-plans/plan_gpu.jsonl",), PLANS + SPMM_GPU, said=plans_gpu),
    Claim("growth", "Growth of plans and products", "bench/growth.py", ("growth/cpu.jsonl", "growth/h100-80gb-hbm3.jsonl"), PLANS + SPMM_CPU + SPMM_GPU, said=growth),
    Claim("scaling", "Reading and planning by each rank", "bench/scaling.py", ("cpu/scaling.json",), PLANS + ["src/io/*", "src/parallel_io/*"],
          said=lambda: f"A rank of eight takes at most {max(r['x_first'] for r in load(in_results('cpu/scaling.json'))['rows']):.2f} times the memory of one of two"),
    Claim("reading", "Reading Matrix Market text", "bench/read_mtx.py", ("cpu/read_mtx.json",), ["src/io/*mtx*", "src/io/*literal*"],
          lambda: of_runs(load(in_results("cpu/read_mtx.json"))["files"], "scipy", lambda r: r["ratio"])),
    Claim("ordering", "Rabbit Order", "bench/run.sh", ("cpu/order.json",), ["src/order/*rabbit*"],
          said=lambda: f"V_FC is {load(in_results('cpu/order.json'))['orders'][0]['times_lower']:.2f} times lower"),
    Claim("covers", "Rows of covers after the order cover", "bench/covers.py", ("cpu/covers.json",),
          ["src/order/cover*", "src/order/pattern*", "src/order/divided*", "src/order/metis.c", "src/matrix/cover*"], said=covers),
    Claim("networks", "Steps of graph networks on one GPU", "bench/gnn/epoch.py", ("gnn/one_gpu.json", "gnn/one_gpu_tf32.json"), GNN, lambda: networks_gpu("one_gpu")),
    Claim("networks-more", "Steps of graph networks on several GPUs", "bench/gnn/epoch.py",
          tuple(f"gnn/{n}.json" for n in ("two_gpus", "four_gpus", "four_gpus_gat", "four_gpus_gat_smaller")), GNN,
          said=lambda: "See the tables"),
    Claim("ways", "Ways of sending rows", "bench/gnn/cola_table11.py", ("gnn/cola_table11.json",), GNN, said=lambda: "See the tables"),
    Claim("accuracy", "Accuracy of graph networks", "bench/gnn/accuracy.py", ("gnn/accuracy_sley.json", "gnn/accuracy_pyg.json"), GNN, said=accuracy),
    Claim("torch", "sley.torch", "bench/gpu/run.sh torch", ("torch/epoch_clj.json", "torch/epoch_rmat.json", "torch/ranks_prd.json"),
          ["python/sley/torch/*", "python/sley/nn.py"], said=lambda: "See the tables"),
    Claim("tensor", "The choice of Tensor cores", "bench/gpu/windows.py", ("tensor-h100/choice.json", "kernels-h200/tensor_f16_seed737373.json",
                                                                            "kernels-h200/tensor_f32_seed737373.json"), SPMM_GPU, said=tensor_choice),
    Claim("fused", "Products and updates in one kernel", "bench_update_gpu", ("tensor-h100/update.json",), [CUDA + "*update*"], fused),
    Claim("beside-dense", "Collectives of mostly zeros beside dense ones", "bench/collective/beside_dense.py",
          tuple(f"collective/{n}.json" for n in ("gpus", "gpus_4", "hosts", "hosts_2x2", "mpi")), COLLECTIVE, lambda: beside_dense(("gpus", "hosts"))),
    Claim("training", "A GPT over slow links", "bench/collective/ddp_gpt.py", ("collective/ddp_gpt.json",), COLLECTIVE, said=training),
]


def files_of_sets():
    """Every file of results that must belong to a claim."""
    return sorted(os.path.relpath(path, RESULTS) for path in glob.glob(in_results("*/*.json*")) if os.path.basename(path) != "machine.json")
