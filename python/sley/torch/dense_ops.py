# SPDX-License-Identifier: Apache-2.0
"""The operators on dense rows, in the namespace torch.ops.sley: products of matrices; bias, activation and dropout in
one pass; the loss.

`sley.torch.functional` has the functions for users.
"""
from typing import Any

import torch
from torch import Tensor

from sley.errors import SleyArgumentError
from sley.torch._dense import ACTIVATIONS, dense_of
from sley.torch._operator import Operator, cast_nothing, cast_to_float32
from sley.torch._transform import batch, one_by_one, pull_back


def _check_matrix(what: str, x: Tensor) -> None:
    if x.dim() != 2:  # the message is formatted only on failure, since formatting takes as long as a call
        raise SleyArgumentError(f"{what} has shape {tuple(x.shape)}: expected (rows, columns)")


def _check_like(what: str, found: Tensor, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
    if tuple(found.shape) != shape or found.dtype != dtype or found.device != device:
        raise SleyArgumentError(f"{what} has shape {tuple(found.shape)}, {found.dtype} on {found.device}: expected "
                                f"{shape}, {dtype} on {device}")


# ---- gemm: C = op(A) op(B) + bias


def _gemm_shape(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, bias: Tensor | None) -> tuple[int, int]:
    """Checks the operands; returns the shape of C."""
    _check_matrix("gemm: A", a)
    _check_matrix("gemm: B", b)
    (k, m), (n, inner) = a.shape if transpose_a else a.shape[::-1], b.shape if transpose_b else b.shape[::-1]
    if k != inner or a.dtype != b.dtype or a.device != b.device:
        raise SleyArgumentError(f"gemm: A has {k} columns of {a.dtype} on {a.device}, and B {inner} rows of {b.dtype} "
                                f"on {b.device}")
    if bias is not None:
        _check_like("gemm: bias", bias, (n,), a.dtype, a.device)
    return m, n


def _gemm_run(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False,
              bias: Tensor | None = None) -> Tensor:
    _gemm_shape(a, b, transpose_a, transpose_b, bias)
    return dense_of(a).multiply(a, b, transpose_a, transpose_b, bias)


def _gemm_fake(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False,
               bias: Tensor | None = None) -> Tensor:
    return a.new_empty(_gemm_shape(a, b, transpose_a, transpose_b, bias))


def _gemm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, ctx.transpose_a, ctx.transpose_b, _bias = inputs
    ctx.save_for_backward(a, b)


def _gemm_backward(ctx: Any, dc: Tensor) -> tuple[Any, ...]:
    """dop(A) = dC op(B)^T and dop(B) = op(A)^T dC, or their transposes."""
    (a, b), ta, tb = ctx.saved_tensors, ctx.transpose_a, ctx.transpose_b
    of_a, of_b, _, _, of_bias = ctx.needs_input_grad
    da = db = None
    if of_a:
        da = gemm(b, dc, tb, True, None) if ta else gemm(dc, b, False, not tb, None)
    if of_b:
        db = gemm(dc, a, True, ta, None) if tb else gemm(a, dc, not ta, False, None)
    return da, db, None, None, dc.sum(0) if of_bias else None


def _gemm_jvp(given: Any, tangents: Any) -> Tensor:
    """dA B + A dB + dbias."""
    a, b, ta, tb, _ = given
    da, db, _, _, dbias = tangents
    made = None if da is None else gemm(da, b, ta, tb, dbias)
    if db is not None:
        other = gemm(a, db, ta, tb, dbias if da is None else None)
        made = other if made is None else made + other
    if made is None:
        made = dbias.expand(a.shape[1 if ta else 0], -1).clone()
    return made


def _gemm_vmap(size: int, dims: Any, given: Any) -> tuple[Tensor, int]:
    """A batch of only A becomes rows of op(A), a batch of only B becomes columns of op(B); otherwise products run one
    by one."""
    a, b, ta, tb, bias = given
    if dims[0] is not None and dims[1] is None and dims[4] is None:
        a = batch(a, dims[0], size)
        a = a.transpose(1, 2) if ta else a
        c = gemm(a.reshape(size * a.shape[1], a.shape[2]), b, False, tb, bias)
        return c.reshape(size, a.shape[1], c.shape[1]), 0
    if dims[0] is None and dims[1] is not None:
        b = batch(b, dims[1], size)
        b = b if tb else b.transpose(1, 2)  # its rows are columns of op(B)
        bias = None if bias is None else batch(bias, dims[4], size).reshape(-1)
        c = gemm(a, b.reshape(size * b.shape[1], b.shape[2]), ta, True, bias)
        return c.reshape(c.shape[0], size, b.shape[1]), 1
    return one_by_one(gemm)(size, dims, given)


gemm = Operator("gemm(Tensor a, Tensor b, bool transpose_a=False, bool transpose_b=False, Tensor? bias=None) -> Tensor",
                _gemm_run, _gemm_fake, _gemm_setup, _gemm_backward, subject=0, jvp=_gemm_jvp, vmap=_gemm_vmap)


# ---- dropout_mask: the factors of dropout, separately


def _mask_run(seed: Tensor, rows: int, cols: int, p: float, stream: int, first_row: int, like: torch.dtype) -> Tensor:
    ones = torch.ones(rows, cols, dtype=like, device=seed.device)
    return dense_of(ones).drop(ones, None, "none", p, seed, stream, first_row)


def _mask_fake(seed: Tensor, rows: int, cols: int, p: float, stream: int, first_row: int, like: torch.dtype) -> Tensor:
    return seed.new_empty((rows, cols), dtype=like)


dropout_mask = Operator("dropout_mask(Tensor seed, SymInt rows, SymInt cols, float p, int stream, int first_row, "
                        "ScalarType like) -> Tensor", _mask_run, _mask_fake, lambda ctx, inputs, output: None,
                        lambda ctx, *_: (None,) * 7, cast_nothing, subject=0)  # a function of whole numbers


def _mask_of(x: Tensor, p: float, seed: Tensor | None, stream: int, first_row: int) -> Tensor | float:
    return 1.0 if p == 0.0 else dropout_mask(seed, *x.shape, p, stream, first_row, x.dtype)


# ---- bias_act_dropout: dropout of act(x + bias)


def check_drop(x: Tensor, bias: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int = 0,
               first_row: int = 0) -> None:
    """Checks the operands of `bias_act_dropout`."""
    _check_matrix("bias_act_dropout: x", x)
    if act not in ACTIVATIONS:
        raise SleyArgumentError(f"bias_act_dropout: there is no activation {act!r}: take {' or '.join(ACTIVATIONS)}")
    if not 0.0 <= p < 1.0:
        raise SleyArgumentError(f"bias_act_dropout: p is {p}: it must be 0 or more and less than 1")
    if not 0 <= stream < 2**32 or first_row < 0:
        raise SleyArgumentError(f"bias_act_dropout: stream is {stream} and first_row {first_row}: neither is negative, "
                                "and stream is below 2^32")
    if bias is not None:
        _check_like("bias_act_dropout: bias", bias, (x.shape[1],), x.dtype, x.device)
    if seed is not None:
        _check_like("bias_act_dropout: seed", seed, (1,), torch.int64, x.device)
    elif p > 0.0:
        raise SleyArgumentError("bias_act_dropout: p is above 0, and there is no seed")


def _drop_run(x: Tensor, bias: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int = 0,
              first_row: int = 0) -> Tensor:
    check_drop(x, bias, act, p, seed, stream, first_row)
    return dense_of(x).drop(x, bias, act, p, seed, stream, first_row)


def _drop_fake(x: Tensor, bias: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int = 0,
               first_row: int = 0) -> Tensor:
    check_drop(x, bias, act, p, seed, stream, first_row)
    return x.new_empty(x.shape)


def _drop_setup(ctx: Any, inputs: Any, output: Any) -> None:
    """With relu the output shows which values were kept, so the mask is not drawn again."""
    _x, bias, ctx.act, ctx.p, seed, ctx.stream, ctx.first_row = inputs
    ctx.biased = bias is not None
    ctx.save_for_backward(output if ctx.act == "relu" else None, seed)


def _drop_backward(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
    y, seed = ctx.saved_tensors
    summed = ctx.biased and ctx.needs_input_grad[1]
    dx, dbias = bias_act_dropout_backward(dy, y, ctx.act, ctx.p, seed, ctx.stream, ctx.first_row, summed)
    return dx, dbias if summed else None, None, None, None, None, None


def _drop_parts(x: Tensor, bias: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int,
                first_row: int) -> Tensor:
    check_drop(x, bias, act, p, seed, stream, first_row)
    y = x if bias is None else x + bias
    return (y.relu() if act == "relu" else y) * _mask_of(x, p, seed, stream, first_row)


bias_act_dropout = Operator("bias_act_dropout(Tensor x, Tensor? bias, str act, float p, Tensor? seed, int stream=0, "
                            "int first_row=0) -> Tensor", _drop_run, _drop_fake, _drop_setup, _drop_backward,
                            cast_nothing, subject=0, parts=_drop_parts)


def _drop_backward_run(dy: Tensor, y: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int,
                       first_row: int, summed: bool) -> tuple[Tensor, Tensor]:
    _check_matrix("bias_act_dropout: the gradient", dy)
    dense = dense_of(dy)
    if y is not None:
        _check_like("bias_act_dropout: the gradient", dy, tuple(y.shape), y.dtype, y.device)
        return dense.gradient(dy, y, 1.0 / (1.0 - p), sums=summed)
    dx = dense.drop(dy, None, act, p, seed, stream, first_row)
    return dx, dense.column_sums(dx) if summed else dx.new_empty((0,))


def _drop_backward_fake(dy: Tensor, y: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int,
                        first_row: int, summed: bool) -> tuple[Tensor, Tensor]:
    return dy.new_empty(dy.shape), dy.new_empty((dy.shape[1] if summed else 0,))


def _drop_backward_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _dy, y, ctx.act, ctx.p, seed, ctx.stream, ctx.first_row, ctx.summed = inputs
    ctx.save_for_backward(y, seed)


def _drop_backward_backward(ctx: Any, of_dx: Tensor, of_sums: Tensor) -> tuple[Any, ...]:
    """Both results are linear in dY with the same factors; their derivative with respect to y is 0 wherever it
    exists."""
    y, seed = ctx.saved_tensors
    of_all = of_dx + of_sums if ctx.summed else of_dx
    of_dy = bias_act_dropout_backward(of_all, y, ctx.act, ctx.p, seed, ctx.stream, ctx.first_row, False)[0]
    return of_dy, None, None, None, None, None, None, None


def _drop_backward_parts(dy: Tensor, y: Tensor | None, act: str, p: float, seed: Tensor | None, stream: int,
                         first_row: int, summed: bool) -> tuple[Tensor, Tensor]:
    if y is None:
        dx = dy * _mask_of(dy, p, seed, stream, first_row)
    else:
        dx = torch.where(y > 0, dy / (1.0 - p), 0.0)
    return dx, dx.sum(0) if summed else dx.new_empty((0,))


bias_act_dropout_backward = Operator("bias_act_dropout_backward(Tensor dy, Tensor? y, str act, float p, Tensor? seed, "
                                     "int stream, int first_row, bool summed) -> (Tensor, Tensor)", _drop_backward_run,
                                     _drop_backward_fake, _drop_backward_setup, _drop_backward_backward, cast_nothing,
                                     subject=0, parts=_drop_backward_parts)


# ---- nll: the negative log-likelihood of labels


def _check_nll(logits: Tensor, label: Tensor) -> None:
    _check_matrix("nll: logits", logits)
    if logits.shape[1] == 0 and logits.shape[0] > 0:
        raise SleyArgumentError("nll: there are no classes")
    _check_like("nll: the array of labels", label, (logits.shape[0],), torch.int32, logits.device)


def _nll_run(logits: Tensor, label: Tensor, counted: float = 0.0) -> tuple[Tensor, Tensor]:
    _check_nll(logits, label)
    sums = dense_of(logits).loss(logits, label)
    return (sums[0] / (counted or sums[1])).to(logits.dtype), sums


def _nll_fake(logits: Tensor, label: Tensor, counted: float = 0.0) -> tuple[Tensor, Tensor]:
    _check_nll(logits, label)
    return logits.new_empty(()), logits.new_empty((2,), dtype=torch.float64)


def _nll_setup(ctx: Any, inputs: Any, output: Any) -> None:
    logits, label, ctx.counted = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(logits, label, output[1])


def _nll_backward(ctx: Any, dloss: Tensor, _dsums: Any) -> tuple[Any, ...]:
    logits, label, sums = ctx.saved_tensors
    return nll_backward(dloss, logits, label, sums, ctx.counted), None, None


def _nll_terms(logits: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Computed by torch's operators in float64: log-probabilities, labels as class indices, and a factor for each row:
    1, 0 if the row is not counted, or NaN if its label is not a class."""
    classes = logits.shape[1]
    share = (label != -1).double()
    share = torch.where((label < -1) | (label >= classes), torch.nan, share)
    return logits.double().log_softmax(1), label.long().clamp(0, max(classes - 1, 0)), share


def _nll_parts(logits: Tensor, label: Tensor, counted: float) -> tuple[Tensor, Tensor]:
    _check_nll(logits, label)
    logs, place, share = _nll_terms(logits, label)
    picked = logs.gather(1, place.unsqueeze(1)).squeeze(1)
    sums = torch.stack((-torch.where(share == 0, 0.0, picked * share).sum(), (label != -1).sum().double()))
    return (sums[0] / (counted or sums[1])).to(logits.dtype), sums.detach()


nll = Operator("nll(Tensor logits, Tensor label, float counted=0.) -> (Tensor, Tensor)", _nll_run, _nll_fake,
               _nll_setup, _nll_backward, cast_to_float32, subject=0, parts=_nll_parts)


def _nll_backward_run(dloss: Tensor, logits: Tensor, label: Tensor, sums: Tensor, counted: float) -> Tensor:
    _check_nll(logits, label)
    dense = dense_of(logits)
    if counted:
        return dense.loss_gradient(logits, label, 1.0 / counted, dloss.double())
    return dense.loss_gradient(logits, label, 1.0, dloss.double() / sums[1])


def _nll_backward_fake(dloss: Tensor, logits: Tensor, label: Tensor, sums: Tensor, counted: float) -> Tensor:
    return logits.new_empty(logits.shape)


def _nll_backward_setup(ctx: Any, inputs: Any, output: Any) -> None:
    dloss, logits, label, sums, ctx.counted = inputs
    ctx.save_for_backward(dloss, logits, label, sums)


def _nll_backward_parts(dloss: Tensor, logits: Tensor, label: Tensor, sums: Tensor, counted: float) -> Tensor:
    """`sums` contributes only the count of rows, which does not depend on logits."""
    logs, place, share = _nll_terms(logits, label)
    classes = torch.arange(logits.shape[1], device=logits.device)
    first = logs.exp() - (classes == place.unsqueeze(1)).double()
    share = share * (dloss.double() / (counted or sums[1].detach()))
    return torch.where((label == -1).unsqueeze(1), 0.0, first * share.unsqueeze(1)).to(logits.dtype)


def _nll_backward_backward(ctx: Any, of_dlogits: Tensor) -> tuple[Any, ...]:
    dloss, logits, label, sums = ctx.saved_tensors

    def first(dloss: Tensor, logits: Tensor) -> Tensor:
        return _nll_backward_parts(dloss, logits, label, sums, ctx.counted)

    return *pull_back(first, (dloss, logits), of_dlogits), None, None, None


nll_backward = Operator("nll_backward(Tensor dloss, Tensor logits, Tensor label, Tensor sums, float counted) -> Tensor",
                        _nll_backward_run, _nll_backward_fake, _nll_backward_setup, _nll_backward_backward,
                        cast_to_float32, subject=1, parts=_nll_backward_parts)
