# SPDX-License-Identifier: Apache-2.0
"""A communication hook for DistributedDataParallel: only the largest values of gradients are sent, with error feedback,
and summed by a compressed all-reduce."""
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.distributed

import sley.dist
from sley import _c
from sley._calls import value_of
from sley._collective import COMPRESSIONS, CollectiveInfo, bounds, collective_info, kinds, one_of, ops, ways
from sley._library import initial, lib
from sley.errors import SleyArgumentError
from sley.torch._rank import Handle, Rank, check, code_of, require
from sley.torch.dist import rank_of

_VERSION = 1
_KEYS = {"version", "rank", "ranks", "step", "residuals"}


@dataclass(frozen=True)
class BucketInfo:
    """Report on the last step of a bucket on this rank."""

    values: int  # number of values of the bucket
    kept: int  # sent values, without zeros of the gradient; 0 before the first sparse step
    threshold: float  # the least magnitude that is sent
    collective: CollectiveInfo


@dataclass
class _Bucket:
    parameters: list[torch.Tensor]  # parameters whose gradients are in the bucket, in this order
    residual: torch.Tensor  # one dimension; each parameter has a part of it
    collective: Handle
    topk: Handle | None = None
    density: float = 0.0  # density of topk


class SparseHookState:
    """The state of `sparse_allreduce_hook` between steps: a residual for each bucket, and prepared operations of the
    library.

    From each bucket about the share `density` of the values is sent, the largest in magnitude. The other values stay in
    the residual and are added to the next step's gradient. Each part of a residual belongs to a parameter and moves
    with it when DistributedDataParallel rebuilds its buckets. Creating a state, `close`, and each step are collective.

    Parameters
    ----------
    comm : sley.dist.Comm, Rank, or a process group of torch.distributed
        The ranks, which must be those of DistributedDataParallel's group. From a process group the state creates its
        own comm with `sley.dist.init`, which `close` ends: on the GPU if the group's backend is nccl, otherwise on the
        CPU.
    density : float
        The share of values that is sent, 0 < density <= 1.
    sample : float
        The share of values from which the threshold is estimated, 0 < sample <= 1; at least 64 / density values are
        used.
    seed : int
        Seed of the sample's positions, which are the same in every step.
    warmup_steps : int
        Number of dense steps at the beginning: gradients are sent whole, and the residuals do not change.
    ramp_steps : int
        Number of steps after the warm-up in which the share falls from 1/4 to `density`, in stages of equal length,
        each with a quarter of the previous share, because gradients change fast at first (Lin, Han, Mao, Wang, Dally,
        Deep Gradient Compression, ICLR 2018, section 3.3).
    compress : str
        "auto", "pici", "coo" or "none", as in `sley.dist.Collective`.
    way : str
        As in `sley.dist.Collective`.
    dense_above, any_order
        As in `sley.dist.Collective`.
    residual_factor : float
        Factor, from 0 to 1, by which each step multiplies the residual before it adds the gradient; less than 1: a leaky
        residual.

    Attributes
    ----------
    step : int
        Number of finished steps.

    Examples
    --------
    >>> model = torch.nn.parallel.DistributedDataParallel(net)
    >>> state = sley.torch.SparseHookState(torch.distributed.group.WORLD, density=0.01)
    >>> model.register_comm_hook(state, sley.torch.sparse_allreduce_hook)
    """

    def __init__(self, comm: Any, *, density: float = 0.01, sample: float = 0.001, seed: int = 1,
                 warmup_steps: int = 0, ramp_steps: int = 0, compress: str = "auto", way: str = "auto",
                 dense_above: float | Sequence[float | None] | None = None, any_order: bool = False,
                 residual_factor: float = 1.0) -> None:
        for name, share in (("density", density), ("sample", sample)):
            require(0 < share <= 1, f"{name} is {share}: it must be greater than 0 and at most 1")
        require(min(warmup_steps, ramp_steps) >= 0 and 0 <= seed < 2**64, f"warmup_steps is {warmup_steps}, ramp_steps "
                f"{ramp_steps}, and seed {seed}: none is negative, and a seed has 64 bits")
        self.density, self._topk_options = density, {"sample": sample, "seed": seed,
                                                       "residual_factor": residual_factor}
        self._sum_options = {"compress": one_of(COMPRESSIONS, compress, "compression"), "way": one_of(ways(), way, "way"),
                             "kind": one_of(kinds(), "allreduce", "collective"), "op": one_of(ops(), "sum", "reduction"),
                             "any_order": any_order, **bounds(dense_above)}
        self.step, self.warmup_steps, self.ramp_steps = 0, warmup_steps, ramp_steps
        self._own = None if isinstance(comm, Rank | sley.dist.Comm) else _comm_of(comm)
        self._rank = rank_of(comm if self._own is None else self._own)
        self._buckets: dict[int, _Bucket] = {}
        self._residuals: dict[torch.Tensor, torch.Tensor] = {}  # residual of each parameter, in the order of first use
        self._loaded: list[torch.Tensor] = []  # loaded residuals of parameters that have not been used yet, by number

    def reduce(self, bucket: Any) -> torch.Tensor:
        """Replaces the bucket's gradients by the mean, over the ranks, of the sent values. Collective.

        Parameters
        ----------
        bucket : torch.distributed.GradBucket
            Bucket of float32, float64, float16 or bfloat16, on the device of the state's rank.

        Returns
        -------
        Tensor, of one dimension
            bucket.buffer().
        """
        flat: torch.Tensor = bucket.buffer()
        require(flat.device == self._rank.device,
                f"gradients are on {flat.device}, and the state's rank works on {self._rank.device}")
        made = self._bucket(bucket.index(), bucket.parameters(), flat)
        flat.mul_(1.0 / self._rank.size)  # before the sum, as in DistributedDataParallel: 16-bit sums stay small
        if self.step >= self.warmup_steps:
            self.sparsify(self._topk(made, flat), flat)
        self.exchange(made.collective, flat)
        if bucket.is_last():
            self.step += 1
            for index in [each for each in self._buckets if each > bucket.index()]:
                self._end(self._buckets.pop(index))
        return flat

    def sparsify(self, topk: Handle, flat: torch.Tensor) -> None:
        """Leaves the largest values of gradient plus residual in flat, and the others in the residual."""
        with self._rank:
            check(lib.sley_topk_run(topk, flat.data_ptr(), flat.data_ptr()))

    def exchange(self, collective: Handle, flat: torch.Tensor) -> None:
        """Sums flat over the ranks. Collective."""
        with self._rank:
            check(lib.sley_collective_run(collective, flat.data_ptr(), flat.data_ptr()))

    def _bucket(self, index: int, parameters: list[torch.Tensor], flat: torch.Tensor) -> _Bucket:
        """The bucket of this number, created again if its parameters have changed. Collective."""
        made = self._buckets.get(index)
        if made is not None and len(made.parameters) == len(parameters) and made.residual.numel() == flat.numel() and \
                all(one is other for one, other in zip(made.parameters, parameters, strict=True)):
            return made
        code = code_of(flat.dtype)
        residual, parts = self._residual(parameters, flat)
        if made is not None:
            self._end(self._buckets.pop(index))
        made = self._buckets[index] = _Bucket(parameters, residual, self._prepare(code, residual))
        self._residuals.update(zip(parameters, parts, strict=True))
        return made

    def _residual(self, parameters: list[torch.Tensor], flat: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The residual of a bucket, and its part for each parameter: the parameter's existing residual, else the loaded
        one, else zeros."""
        sizes = [each.numel() for each in parameters]
        require(sum(sizes) == flat.numel(), f"a bucket of {flat.numel()} values has parameters of {sum(sizes)}")
        dtype = torch.float64 if flat.dtype == torch.float64 else torch.float32
        made = torch.zeros(flat.numel(), dtype=dtype, device=flat.device)
        parts = list(torch.split(made, sizes))
        number = len(self._residuals)
        for parameter, part in zip(parameters, parts, strict=True):
            before = self._residuals.get(parameter)
            if before is not None:
                part.copy_(before)
                continue
            if number < len(self._loaded):
                _copy(part, self._loaded[number], number)
            number += 1
        return made, parts

    def _prepare(self, code: int, residual: torch.Tensor) -> Handle:
        total = initial(_c.sley_collective_options, type=code, count=residual.numel(), **self._sum_options)
        rank = self._rank
        return rank.make(lib.sley_collective_destroy, lib.sley_collective_create, rank.comm, ctypes.byref(total))

    def _share(self) -> float:
        """The share of values that this step sends."""
        stages: list[float] = []
        while self.density < (share := 0.25 ** (len(stages) + 1)):
            stages.append(share)
        done = self.step - self.warmup_steps
        return self.density if done >= self.ramp_steps or not stages else stages[done * len(stages) // self.ramp_steps]

    def _topk(self, bucket: _Bucket, flat: torch.Tensor) -> Handle:
        """The top-k operation for this step's share."""
        share, rank, residual = self._share(), self._rank, bucket.residual
        if bucket.topk is None or bucket.density != share:
            if bucket.topk is not None:
                rank.drop(bucket.topk)
            topk = initial(_c.sley_topk_options, dtype=code_of(flat.dtype), count=residual.numel(),
                           residual=residual.data_ptr(), density=share, **self._topk_options)
            bucket.topk = rank.make(lib.sley_topk_destroy, lib.sley_topk_create, rank.comm, ctypes.byref(topk),
                                    kept=residual)
            bucket.density = share
        return bucket.topk

    def _end(self, bucket: _Bucket) -> None:
        """Collective."""
        for each in (bucket.collective, bucket.topk):
            if each is not None:
                self._rank.drop(each)

    def info(self) -> list[BucketInfo]:
        """Reports on the last step on this rank, one per bucket; waits for the step."""
        made = []
        with self._rank:
            for _, each in sorted(self._buckets.items()):
                topk = None if each.topk is None else value_of(_c.sley_topk_info, lib.sley_topk_info_get, each.topk)
                total = value_of(_c.sley_collective_info, lib.sley_collective_info_get, each.collective)
                kept, threshold = (0, 0.0) if topk is None else (topk.kept, topk.threshold)
                made.append(BucketInfo(each.residual.numel(), kept, threshold, collective_info(total)))
        return made

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint of this rank; each rank has its own.

        Returns
        -------
        dict
            "residuals": tensors of one dimension on the CPU, float64 for float64 parameters and float32 for others, in
            the order in which the parameters were first used; "step", "rank", "ranks", "version": integers.
        """
        kept = [each.detach().cpu().clone() for each in self._residuals.values()]
        return {"version": _VERSION, "rank": self._rank.rank, "ranks": self._rank.size, "step": self.step,
                "residuals": kept + self._loaded[len(kept):]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads a result of `state_dict` from the same rank of the same number of ranks, for the same model, before or
        after the first step. Does not wait for the device."""
        require(set(state) == _KEYS, f"a state has {', '.join(sorted(_KEYS))}: this one has "
                f"{', '.join(sorted(map(str, state)))}")
        require(state["version"] == _VERSION, f"the state has version {state['version']}: {_VERSION} is known")
        require((state["rank"], state["ranks"]) == (self._rank.rank, self._rank.size),
                f"the state is of rank {state['rank']} of {state['ranks']}, and this is rank {self._rank.rank} of "
                f"{self._rank.size}")
        given = list(state["residuals"])
        require(len(given) >= len(self._residuals) or not given,
                f"the state has {len(given)} parameters, and the model at least {len(self._residuals)}")
        for number, part in enumerate(self._residuals.values()):
            if given:
                _copy(part, given[number], number)
            else:
                part.zero_()
        self.step = int(state["step"])
        self._loaded = [each.detach().cpu().clone() for each in given]

    def close(self) -> None:
        """Destroys the prepared operations; the residuals stay. If the state made its comm, the comm also ends;
        otherwise a later step prepares the operations again. Collective."""
        while self._buckets:
            self._end(self._buckets.popitem()[1])
        if self._own is not None:
            self._own.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# DistributedDataParallel checks the annotations of a hook, so these are exact.
def sparse_allreduce_hook(state: SparseHookState,
                          bucket: torch.distributed.GradBucket,  # type: ignore[name-defined]
                          ) -> torch.futures.Future[torch.Tensor]:
    """For `DistributedDataParallel.register_comm_hook`: the mean of the ranks' largest gradients. Collective.

    On the CPU the mean is complete when the call returns. On a GPU it is computed on the current stream, and streams
    that use the future wait for it; the host waits if the length of messages depends on values.

    Parameters
    ----------
    state : SparseHookState
    bucket : torch.distributed.GradBucket
        Of float32, float64, float16 or bfloat16.

    Returns
    -------
    torch.futures.Future
        Future of the bucket's buffer, a tensor of one dimension.
    """
    made = state.reduce(bucket)
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future(
        devices=[made.device] if made.device.type == "cuda" else None)
    future.set_result(made)
    return future


def _comm_of(group: Any) -> "sley.dist.Comm":
    """A comm of the ranks of a process group. Collective over the group."""
    if not isinstance(group, torch.distributed.ProcessGroup):
        raise SleyArgumentError(f"{group!r} is neither a comm of sley.dist nor a process group of torch.distributed")
    on_gpu = "nccl" in torch.distributed.get_backend(group)
    return sley.dist.init(group, device="cuda" if on_gpu else "cpu")


def _copy(part: torch.Tensor, given: torch.Tensor, number: int) -> None:
    require(part.numel() == given.numel(),
            f"the residual of parameter {number} has {given.numel()} values, and the parameter {part.numel()}")
    part.copy_(given)
