# SPDX-License-Identifier: Apache-2.0
"""The operations of sley_graph.h on torch tensors. Each is prepared once per shape, and every call fills its
structs."""
import ctypes
import zlib
from typing import Any

import numpy as np
import torch

from sley import _c
from sley._calls import create, destroy_later
from sley._library import initial, lib
from sley._process import NotCopied
from sley.torch._rank import Handle, Rank, check, code_of, require, rows_of
from sley.torch._transform import aside

_edge_softmax, _edge_softmax_backward = lib.sley_edge_softmax, lib.sley_edge_softmax_backward


class Block:
    """A rank's rows of A for the library: CSR in host memory, and the partitions of rows and columns."""

    def __init__(self, rowptr: torch.Tensor, col: torch.Tensor, row_begin: np.ndarray, col_begin: np.ndarray) -> None:
        self.rowptr, self.col = rowptr, col
        self.row_begin, self.col_begin = row_begin, col_begin

    def matrix(self, values: torch.Tensor) -> "BlockMatrix":
        """The block with values, which are not copied."""
        return BlockMatrix(self, values)

    @property
    def begins(self) -> tuple[int, int]:
        """The addresses of the partitions of rows and of columns."""
        return self.row_begin.ctypes.data, self.col_begin.ctypes.data


class BlockMatrix(NotCopied):
    """A block and its values as a `sley_matrix`, which can be passed to calls."""

    def __init__(self, block: Block, values: torch.Tensor) -> None:
        index = _c.sley_index.SLEY_I32 if block.col.dtype == torch.int32 else _c.sley_index.SLEY_I64
        csr = _c.sley_csr(rows=len(block.rowptr) - 1, cols=int(block.col_begin[-1]), rowptr=block.rowptr.data_ptr(),
                          col=block.col.data_ptr(), val=values.data_ptr(), index=index, dtype=code_of(values.dtype))
        self._kept = block, values
        self._as_parameter_ = create(lib.sley_matrix_destroy, lib.sley_matrix_from_csr, ctypes.byref(csr),
                                     _c.sley_ownership.SLEY_BORROW)
        destroy_later(self, lib.sley_matrix_destroy, self._as_parameter_)


class Pattern(NotCopied):
    """The pattern of a rank's rows: `nnz` entries in `rows` rows; the rank owns `cols` rows of X.

    place: None, or for each row of X and Y its row of the block, which is square and in another order then; operands
    and results of operations keep their own order.
    """

    def __init__(self, rank: Rank, block: Block, place: torch.Tensor | None = None) -> None:
        self.rank, self.block = rank, block
        self.place = place
        self._name = None if place is None else torch.empty_like(place).scatter_(
            0, place, torch.arange(len(place), device=place.device))
        self.device = rank.device
        self.rows = len(block.rowptr) - 1
        self.cols = int(block.col_begin[rank.rank + 1] - block.col_begin[rank.rank])
        self.nnz = len(block.col)
        self._graph: Handle | None = None
        self._made: dict[Any, Any] = {}

    @property
    def graph(self) -> Handle:
        """The `sley_graph`."""
        if self._graph is None:  # torch may be tracing with fake tensors, which have no address
            with aside():
                matrix = self.block.matrix(torch.ones(self.nnz))  # the values are not used
            blocks = (ctypes.c_void_p * 1)(matrix._as_parameter_)
            self._graph = self.rank.make(lib.sley_graph_destroy, lib.sley_graph_create, self.rank.comm, blocks,
                                         *self.block.begins, None)
        return self._graph

    def ordered(self, x: torch.Tensor) -> torch.Tensor:
        """Rows in the order of the block."""
        return x if self._name is None else x.index_select(0, self._name)

    def restored(self, y: torch.Tensor) -> torch.Tensor:
        """Rows of the block in the order of the caller."""
        return y if self.place is None else y.index_select(0, self.place)

    def _operation(self, kind: type[Any], *shape: Any) -> Any:
        key = (kind, *shape)
        made = self._made.get(key)
        if made is None:
            self._agree(kind.__name__.lstrip("_").lower(), shape)
            made = self._made[key] = kind(self, *shape)
        return made

    def _agree(self, name: str, shape: tuple[Any, ...]) -> None:
        """Refuses an operation for which ranks have different shapes, since they would wait for each other forever.
        Collective."""
        if self.rank.size > 1:
            number = zlib.crc32(repr((name, shape)).encode())
            least = np.array([number, -number], np.int64)
            with self.rank:
                check(lib.sley_comm_allreduce(self.rank.comm, int(_c.sley_reduce.SLEY_MIN), least.ctypes.data, 2))
            require(least[0] == -least[1], f"{name}: the ranks have operands of different shapes or types; on this "
                    f"rank: {', '.join(map(str, shape))}")

    def aggregate(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Y[i] = sum of weight(i, j) X[j], head by head."""
        heads = weight.shape[1]
        operation = self._operation(_Aggregation, heads, x.shape[1] // max(heads, 1), x.dtype)
        return self.restored(operation.forward(self.ordered(x), weight))

    def aggregate_transposed(self, y: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """X[j] = sum of weight(i, j) Y[i], head by head."""
        heads = weight.shape[1]
        operation = self._operation(_Aggregation, heads, y.shape[1] // max(heads, 1), y.dtype)
        return self.restored(operation.transposed(self.ordered(y), weight))

    def sddmm(self, u: torch.Tensor, v: torch.Tensor, heads: int) -> torch.Tensor:
        """S(i, j) = U[i] . V[j], head by head."""
        operation = self._operation(_Sddmm, heads, u.shape[1] // max(heads, 1), u.dtype)
        made: torch.Tensor = operation.forward(self.ordered(u), self.ordered(v))
        return made

    def attention(self, heads: int, width: int, dtype: torch.dtype, slope: float) -> "Attention":
        """The attention of GAT."""
        return self._operation(Attention, heads, width, dtype, slope)

    def halo(self, k: int, dtype: torch.dtype) -> "Halo":
        """The exchanges of the graph's halo."""
        return self._operation(Halo, k, dtype)

    def softmax(self, s: torch.Tensor) -> torch.Tensor:
        """Softmax over the entries of each row, head by head."""
        s, p = s.contiguous(), torch.empty_like(s, memory_format=torch.contiguous_format)
        graph = self.graph.address
        with self.rank:
            check(_edge_softmax(graph, 0, s.shape[1], code_of(s.dtype), s.data_ptr(), p.data_ptr()))
        return p

    def softmax_backward(self, p: torch.Tensor, dp: torch.Tensor) -> torch.Tensor:
        """P (dP - sum of P dP over the row)."""
        p, dp = p.contiguous(), dp.contiguous()
        ds = torch.empty_like(p)
        graph = self.graph.address
        with self.rank:
            check(_edge_softmax_backward(graph, 0, p.shape[1], code_of(p.dtype), p.data_ptr(), dp.data_ptr(),
                                         ds.data_ptr()))
        return ds


class _Aggregation:
    """The operation aggregation for one shape: sums of weighted rows."""

    def __init__(self, pattern: Pattern, heads: int, width: int, dtype: torch.dtype) -> None:
        options = initial(_c.sley_aggregation_options, heads=heads, width=width, dtype=code_of(dtype))
        graph = pattern.graph
        self.pattern = pattern.rank, pattern.rows, pattern.cols
        self.features, self.dtype = heads * width, dtype
        self.handle = pattern.rank.make(lib.sley_aggregation_destroy, lib.sley_aggregation_create, graph,
                                        ctypes.byref(options), kept=graph)
        self.operands = initial(_c.sley_aggregation_operands)
        self.gradients = initial(_c.sley_aggregation_gradients)
        self._operands, self._gradients = ctypes.byref(self.operands), ctypes.byref(self.gradients)

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        rank, rows, _ = self.pattern
        (x, ldx), weight = rows_of(x), weight.contiguous()
        y = x.new_empty(rows, self.features)
        with rank:
            given = self.operands
            given.val, given.x, given.ldx = weight.data_ptr(), x.data_ptr(), ldx
            given.y, given.ldy = y.data_ptr(), max(self.features, 1)
            check(lib.sley_aggregate_forward(self.handle, self._operands))
        return y

    def transposed(self, y: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        rank, _, cols = self.pattern
        (y, ldy), weight = rows_of(y), weight.contiguous()
        x = y.new_empty(cols, self.features)
        with rank:
            wanted = self.gradients
            self.operands.val = weight.data_ptr()
            wanted.dy, wanted.lddy, wanted.dx, wanted.lddx = y.data_ptr(), ldy, x.data_ptr(), max(self.features, 1)
            check(lib.sley_aggregate_backward(self.handle, self._operands, self._gradients))
        return x


class _Sddmm:
    """The operation SDDMM for one shape: products of rows."""

    def __init__(self, pattern: Pattern, heads: int, width: int, dtype: torch.dtype) -> None:
        options = initial(_c.sley_sddmm_options, heads=heads, width=width, dtype=code_of(dtype))
        graph = pattern.graph
        self.rank, self.shape = pattern.rank, (pattern.nnz, heads)
        self.handle = pattern.rank.make(lib.sley_sddmm_destroy, lib.sley_sddmm_create, graph, ctypes.byref(options),
                                        kept=graph)
        self.operands = initial(_c.sley_sddmm_operands)
        self._operands = ctypes.byref(self.operands)

    def forward(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        (u, ldu), (v, ldv) = rows_of(u), rows_of(v)
        s = u.new_empty(self.shape)
        with self.rank:
            given = self.operands
            given.u, given.ldu, given.v, given.ldv, given.s = u.data_ptr(), ldu, v.data_ptr(), ldv, s.data_ptr()
            check(lib.sley_sddmm_forward(self.handle, self._operands))
        return s


class Attention:
    """Attention of GAT for one shape: rows of sources are the values of all heads, then a key for each head."""

    def __init__(self, pattern: Pattern, heads: int, width: int, dtype: torch.dtype, slope: float) -> None:
        options = initial(_c.sley_attention_options, heads=heads, width=width, dtype=code_of(dtype), slope=slope)
        graph = pattern.graph
        self.rank, self.rows, self.cols = pattern.rank, pattern.rows, pattern.cols
        self.ordered, self.restored = pattern.ordered, pattern.restored
        self.heads, self.features = heads, heads * width
        self.handle = pattern.rank.make(lib.sley_attention_destroy, lib.sley_attention_create, graph,
                                        ctypes.byref(options), kept=graph)
        info = _c.sley_attention_info()
        check(lib.sley_attention_info_get(self.handle, ctypes.byref(info)))
        self.saved_bytes: int = max(info.saved_bytes, 1)  # at least 1, because an empty tensor has no address
        self.operands = initial(_c.sley_attention_operands)
        self.gradients = initial(_c.sley_attention_gradients)
        self._operands, self._gradients = ctypes.byref(self.operands), ctypes.byref(self.gradients)

    def _give(self, query: torch.Tensor, source: torch.Tensor, y: torch.Tensor, saved: torch.Tensor,
              ldq: int, lds: int) -> None:
        given = self.operands
        given.query, given.ldq, given.source, given.lds = query.data_ptr(), ldq, source.data_ptr(), lds
        given.y, given.ldy, given.saved = y.data_ptr(), max(self.features, 1), saved.data_ptr()

    def forward(self, query: torch.Tensor, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (query, ldq), (source, lds) = rows_of(self.ordered(query)), rows_of(self.ordered(source))
        y = query.new_empty(self.rows, self.features)
        saved = query.new_empty((self.saved_bytes,), dtype=torch.uint8)
        with self.rank:
            self._give(query, source, y, saved, ldq, lds)
            check(lib.sley_attention_forward(self.handle, self._operands))
        return self.restored(y), saved

    def backward(self, query: torch.Tensor, source: torch.Tensor, y: torch.Tensor, saved: torch.Tensor,
                 dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (query, ldq), (source, lds), (dy, lddy) = (rows_of(self.ordered(each)) for each in (query, source, dy))
        y = self.ordered(y).contiguous()
        dquery = query.new_empty(self.rows, self.heads)
        dsource = query.new_empty(self.cols, self.features + self.heads)
        with self.rank:
            self._give(query, source, y, saved, ldq, lds)
            wanted = self.gradients
            wanted.dy, wanted.lddy, wanted.dquery, wanted.lddq = dy.data_ptr(), lddy, dquery.data_ptr(), self.heads
            wanted.dsource, wanted.ldds = dsource.data_ptr(), self.features + self.heads
            check(lib.sley_attention_backward(self.handle, self._operands, self._gradients))
        return self.restored(dquery), self.restored(dsource)


class Halo:
    """The exchanges of the halo, the rows of X that a rank needs from others, for one width."""

    def __init__(self, pattern: Pattern, k: int, dtype: torch.dtype) -> None:
        graph = pattern.graph
        self.rank, self.own_rows, self.k = pattern.rank, pattern.cols, k
        self.handle = pattern.rank.make(lib.sley_halo_destroy, lib.sley_graph_halo, graph, k, code_of(dtype),
                                        kept=graph)
        info = _c.sley_halo_info()
        check(lib.sley_halo_info_get(self.handle, ctypes.byref(info)))
        self.rows: int = info.rows

    def gather(self, x: torch.Tensor) -> torch.Tensor:
        x, ldx = rows_of(x)
        buffer = x.new_empty(self.rows, self.k)
        with self.rank:
            check(lib.sley_halo_gather(self.handle, x.data_ptr(), ldx, buffer.data_ptr(), max(self.k, 1)))
        return buffer

    def scatter_add(self, buffer: torch.Tensor) -> torch.Tensor:
        buffer, ld = rows_of(buffer)
        x = buffer.new_zeros((self.own_rows, self.k))
        with self.rank:
            check(lib.sley_halo_scatter_add(self.handle, buffer.data_ptr(), ld, x.data_ptr(), max(self.k, 1)))
        return x
