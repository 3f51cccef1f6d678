# SPDX-License-Identifier: Apache-2.0
"""Collectives and top-k of PyTorch's tensors, on ranks that are threads, and on one that is this process."""
import numpy as np
import pytest
import torch

import sley
import sley.dist

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ranks", [1, 3])
def test_sums(dtype: torch.dtype, ranks: int) -> None:
    draw = torch.Generator().manual_seed(1)
    values = [torch.randint(-9, 10, (40, 25), generator=draw).to(dtype) for _ in range(ranks)]
    values[0][:, 5:] = 0
    exact = sum(each.double() for each in values)
    with sley.Comm(ranks) as comm, \
            sley.dist.Collective(comm, "allreduce", 1000, dtype, compress="pici", any_order=True) as total:
        made = total(values if ranks > 1 else values[0])
        for each in made if ranks > 1 else [made]:
            assert isinstance(each, torch.Tensor) and each.dtype == dtype and each.shape == (40, 25)
            assert torch.equal(each.double(), exact)
        # a transposed tensor is copied; one of which a gradient is wanted is read
        turned = [each.t().clone().t().requires_grad_() for each in values]
        again = total(turned if ranks > 1 else turned[0], async_op=True).wait()
        assert torch.equal((again[0] if ranks > 1 else again).double(), exact)
        out = [torch.empty(1000, dtype=dtype) for _ in range(ranks)]
        made = total(values if ranks > 1 else values[0], out=out if ranks > 1 else out[0])
        assert (made[0] if ranks > 1 else made) is out[0]
        assert torch.equal(out[-1].double(), exact.flatten())


def test_parts_of_whole_numbers() -> None:
    with sley.Comm(2) as comm, sley.dist.Collective(comm, "allgather", [2, 3], torch.int8, compress="coo") as gather:
        made = gather([torch.tensor([1, -1], dtype=torch.int8), torch.tensor([0, 0, 7], dtype=torch.int8)])
        assert [each.tolist() for each in made] == [[1, -1, 0, 0, 7]] * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k(dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(2)
    values = torch.randn(3000, generator=draw, dtype=torch.float64).to(dtype)
    with sley.Comm() as comm, sley.dist.TopK(comm, 3000, dtype, density=0.1, residual_factor=0.5) as keep:
        first = keep(values)
        assert isinstance(first, torch.Tensor) and first.dtype == dtype
        assert np.allclose(first.double().numpy() + keep.residual, values.double().numpy(), atol=1e-7)
        left = keep.residual
        second = keep(values)
        assert np.allclose(second.double().numpy() + keep.residual, values.double().numpy() + 0.5 * left, atol=1e-6)


def test_what_is_refused() -> None:
    with sley.Comm() as comm, sley.dist.Collective(comm, "allreduce", 4) as total:
        with pytest.raises(sley.SleyArgumentError, match="layout"):
            total(torch.eye(2).to_sparse())
        with pytest.raises(sley.SleyArgumentError, match="follow each other"):
            total(torch.zeros(4), out=torch.zeros(4, 2)[:, 0])
        with pytest.raises(sley.SleyArgumentError, match="float64"):
            total(torch.zeros(4, dtype=torch.float64))
