# SPDX-License-Identifier: Apache-2.0
"""The dense parts of networks (`sley_dense.h`) on torch tensors. Their structs are prepared once per device and type,
and every call fills them."""
import ctypes

import torch

from sley import _c
from sley._library import initial, lib
from sley.torch._rank import check, code_of, local_rank, rows_of

ACTIVATIONS = {"none": int(_c.sley_activation.SLEY_NO_ACTIVATION), "relu": int(_c.sley_activation.SLEY_RELU)}

_gemm, _column_sums, _nll = lib.sley_gemm, lib.sley_column_sums, lib.sley_nll
_dropout, _activate_grad = lib.sley_dropout, lib.sley_activate_grad


class Dense:
    """The operations of one device on values of one type. All operands are on this device; matrices are rows x cols."""

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.rank, self.code = local_rank(device), code_of(dtype)
        self._drop = initial(_c.sley_dropout_spec, dtype=self.code)
        self._grad = initial(_c.sley_activate_grad_spec, dtype=self.code)
        self._loss = initial(_c.sley_nll_spec, dtype=self.code)
        self._product = initial(_c.sley_gemm_spec, dtype=self.code)
        self._specs = tuple(map(ctypes.byref, (self._drop, self._grad, self._loss, self._product)))

    def drop(self, x: torch.Tensor, bias: torch.Tensor | None, act: str, p: float, seed: torch.Tensor | None,
             stream: int, first_row: int) -> torch.Tensor:
        """Dropout of act(x + bias). seed: one int64 from which the mask is drawn if p is above 0."""
        rows, cols = x.shape
        (x, ldx), bias = rows_of(x), None if bias is None else bias.contiguous()
        y = x.new_empty(rows, cols)
        with self.rank:
            given = self._drop
            given.p, given.stream, given.first_row = p, stream, first_row
            given.rows, given.cols, given.ld_in, given.ld_out = rows, cols, ldx, cols
            setattr(given, "in", x.data_ptr())
            given.out, given.act = y.data_ptr(), ACTIVATIONS[act]
            given.bias = None if bias is None else bias.data_ptr()
            given.device_seed = None if seed is None else seed.data_ptr()
            check(_dropout(self.rank.comm, self._specs[0]))
        return y

    def gradient(self, dy: torch.Tensor, y: torch.Tensor, scale: float, *,
                 sums: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """scale dY where y > 0, and 0 elsewhere. With sums also the sums of its columns, otherwise an empty tensor."""
        rows, cols = dy.shape
        (dy, lddy), (y, ldy) = rows_of(dy), rows_of(y)
        dx, made = dy.new_empty(rows, cols), dy.new_empty(cols if sums else 0)
        with self.rank:
            given = self._grad
            given.act, given.scale = ACTIVATIONS["relu"], scale
            given.rows, given.cols, given.ldy, given.ld_dy, given.ld_dx = rows, cols, ldy, lddy, cols
            given.y, given.dy, given.dx = y.data_ptr(), dy.data_ptr(), dx.data_ptr()
            given.sums = made.data_ptr() if sums else None
            check(_activate_grad(self.rank.comm, self._specs[1]))
        return dx, made

    def multiply(self, a: torch.Tensor, b: torch.Tensor, transpose_a: bool, transpose_b: bool,
                 bias: torch.Tensor | None) -> torch.Tensor:
        """op(A) op(B) + bias, where op is the transpose if requested."""
        m, n = a.shape[1 if transpose_a else 0], b.shape[0 if transpose_b else 1]
        if transpose_a and not transpose_b and bias is None and m < n:  # for A^T B the kernel pads rows to 128
            return self.multiply(b, a, True, False, None).t().contiguous()
        (a, lda), (b, ldb), bias = rows_of(a), rows_of(b), None if bias is None else bias.contiguous()
        c = a.new_empty(m, n)
        with self.rank:
            given = self._product
            given.transpose_a, given.transpose_b = transpose_a, transpose_b
            given.m, given.n, given.k = m, n, a.shape[0 if transpose_a else 1]
            given.a, given.lda, given.b, given.ldb = a.data_ptr(), lda, b.data_ptr(), ldb
            given.c, given.ldc, given.bias = c.data_ptr(), n, None if bias is None else bias.data_ptr()
            check(_gemm(self.rank.comm, self._specs[3]))
        return c

    def column_sums(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of each column of x."""
        rows, cols = x.shape
        x, ldx = rows_of(x)
        made = x.new_empty(cols)
        with self.rank:
            check(_column_sums(self.rank.comm, self.code, rows, cols, x.data_ptr(), ldx, made.data_ptr()))
        return made

    def loss(self, logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Two float64 values: the sum of the losses, and the number of counted rows."""
        sums = logits.new_empty(2, dtype=torch.float64)
        self._likelihood(logits, label, 1.0, None, sums, None)
        return sums

    def loss_gradient(self, logits: torch.Tensor, label: torch.Tensor, factor: float,
                      scale: torch.Tensor) -> torch.Tensor:
        """The gradient of the sum of the losses times factor and scale; scale is one float64 value."""
        grad = logits.new_empty(logits.shape)
        self._likelihood(logits, label, factor, scale, None, grad)
        return grad

    def _likelihood(self, logits: torch.Tensor, label: torch.Tensor, factor: float, scale: torch.Tensor | None,
                    sums: torch.Tensor | None, grad: torch.Tensor | None) -> None:
        rows, classes = logits.shape
        (logits, ld), label = rows_of(logits), label.contiguous()
        with self.rank:
            given = self._loss
            given.rows, given.classes, given.ld, given.ld_grad, given.grad_scale = rows, classes, ld, classes, factor
            given.logits, given.label = logits.data_ptr(), label.data_ptr()
            given.device_scale = None if scale is None else scale.data_ptr()
            given.sums = None if sums is None else sums.data_ptr()
            given.grad = None if grad is None else grad.data_ptr()
            check(_nll(self.rank.comm, self._specs[2]))


_made: dict[tuple[torch.device, torch.dtype], Dense] = {}


def dense_of(x: torch.Tensor) -> Dense:
    """The operations for the device and type of x; a GPU device must have an index."""
    key = x.device, x.dtype
    made = _made.get(key)
    if made is None:
        made = _made[key] = Dense(*key)
    return made


def draws() -> bool:
    """Whether the library was built with a generator for dropout."""
    value = ctypes.c_float()
    spec = initial(_c.sley_dropout_spec, p=0.5, rows=1, cols=1, ld_in=1, ld_out=1, out=ctypes.addressof(value))
    setattr(spec, "in", ctypes.addressof(value))
    rank = local_rank("cpu")
    with rank:
        return lib.sley_dropout(rank.comm, ctypes.byref(spec)) == int(_c.sley_status.SLEY_OK)
