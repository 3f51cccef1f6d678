# SPDX-License-Identifier: Apache-2.0
"""PyG's own layers on a Graph."""
from collections.abc import Callable
from typing import Any

from torch import Tensor

from sley.errors import SleyArgumentError, SleyUnsupportedError
from sley.torch import convs
from sley.torch.graph import Graph

_HOOKS = ("_propagate_forward_pre_hooks", "_propagate_forward_hooks", "_message_forward_pre_hooks",
          "_message_forward_hooks", "_aggregate_forward_pre_hooks", "_aggregate_forward_hooks",
          "_message_and_aggregate_forward_pre_hooks", "_message_and_aggregate_forward_hooks",
          "_edge_update_forward_pre_hooks", "_edge_update_forward_hooks")


def patch_pyg() -> None:
    """Makes PyG's GCNConv, SAGEConv, GINConv and GATConv accept a `Graph` in place of edge_index.

    Their forward then uses Sley's operators with the layer's own parameters; with an edge_index it is PyG's.
    Unsupported cases (aggregations other than mean and sum, flow="target_to_source", hooks, explanations, several
    graphs at once) are computed by PyG on the graph's edges. Later calls do nothing.
    """
    try:
        from torch_geometric import nn  # type: ignore[import-untyped]
    except ImportError as error:
        raise SleyUnsupportedError("patch_pyg needs the package torch_geometric, which is not installed") from error
    for kind, run in ((nn.GCNConv, convs.gcn), (nn.SAGEConv, convs.sage), (nn.GINConv, convs.gin),
                      (nn.GATConv, convs.gat)):
        if not hasattr(kind.forward, "before_sley"):
            kind.forward = _forward(kind.forward, run)


def unpatch_pyg() -> None:
    """Restores PyG's layers."""
    from torch_geometric import nn
    for kind in (nn.GCNConv, nn.SAGEConv, nn.GINConv, nn.GATConv):
        kind.forward = getattr(kind.forward, "before_sley", kind.forward)


def _is_plain(layer: Any) -> bool:
    """Whether the layer's propagation has no hooks and explanations, and has the direction of the graph."""
    return (layer.flow == "source_to_target" and not layer.explain
            and not any(getattr(layer, name, None) for name in _HOOKS))


def _check_size(graph: Graph, x: Any, size: Any) -> None:
    source = x if isinstance(x, Tensor) else x[0]
    if source.shape[-2] != graph.shape[0] or size is not None and tuple(size) != graph.shape:
        raise SleyArgumentError(f"x has {source.shape[-2]} rows and size is {size}: the Graph has {graph.shape[0]} "
                                f"sources and {graph.shape[1]} targets")


def _forward(before: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Any, x: Any, edge_index: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(edge_index, Graph):
            return before(self, x, edge_index, *arguments, **options)
        _check_size(edge_index, x, options.get("size"))
        if _is_plain(self):
            try:
                return run(self, x, edge_index, *arguments, **options)
            except SleyUnsupportedError:
                pass
        return before(self, x, edge_index.base[0], *arguments, **options)

    forward.before_sley = before  # type: ignore[attr-defined]
    forward.__doc__ = before.__doc__
    return forward
