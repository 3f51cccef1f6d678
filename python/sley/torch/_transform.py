# SPDX-License-Identifier: Apache-2.0
"""How operators meet the transforms of torch: forward mode, vmap and the others of torch.func, functionalization.

An operator comes to a transform in one of two ways. Either it has rules: an autograd.Function with `jvp` and `vmap`. Or
it has parts: the same function of other operators, which have rules. Nothing here is on the way of a plain call.
"""
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._C import _functorch
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import (
    retrieve_all_functorch_interpreters,
    retrieve_current_functorch_interpreter,
    temporarily_clear_interpreter_stack,
)
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctorchFunctionalizeAPI
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _disable_current_modes

from sley.errors import SleyUnsupportedError

_CONSTANT = "{} is constant, and a derivative with respect to it is asked for: give values to operators as weight"
# Size of the batch, where each argument has it or None, arguments: the result, and where it has the batch.
Rule = Callable[[int, tuple[Any, ...], tuple[Any, ...]], tuple[Any, Any]]
_forward_enabled = torch._C._is_fwd_grad_enabled
_top = _functorch.peek_interpreter_stack
_TRACER = torch._C._dispatch_key_parse("Tracer")


def forward_mode() -> bool:
    """Whether tensors may have tangents."""
    return forward_ad._current_level >= 0 and _forward_enabled()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """In this block no transform, mode, tracer or gradient sees what is computed: for what is made once and kept."""
    with (temporarily_clear_interpreter_stack(), _disable_current_modes(), torch.inference_mode(False),
          torch.no_grad(), forward_ad._set_fwd_grad_enabled(False), _without_tracer()):
        yield


@contextlib.contextmanager
def _without_tracer() -> Iterator[None]:
    """Without torch.jit.trace, unless it looks away already, as in implementations of operators."""
    state = torch._C._get_tracing_state()
    if state is None or torch._C._dispatch_tls_is_dispatch_key_excluded(_TRACER):
        yield
        return
    torch._C._set_tracing_state(None)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)  # type: ignore[attr-defined]


def numbers_of(what: str, given: Tensor) -> Tensor:
    """The values of a tensor that are taken once and kept. Refuses one whose values are not known now or may be others
    in a later run of what is recorded, and one that a transform would find a derivative of 0 for."""
    if forward_mode() and forward_ad.unpack_dual(given).tangent is not None:  # type: ignore[no-untyped-call]
        raise SleyUnsupportedError(_CONSTANT.format(what))
    inner = given
    while _functorch.is_functorch_wrapped_tensor(inner):
        if not _functorch.is_gradtrackingtensor(inner):
            raise SleyUnsupportedError(f"{what} is batched by torch.vmap: it must be one tensor of numbers")
        if inner.requires_grad:
            raise SleyUnsupportedError(_CONSTANT.format(what))
        inner = _functorch.get_unwrapped(inner)
    if isinstance(inner, FakeTensor) or inner.is_meta:
        raise SleyUnsupportedError(f"{what} has no values, as while torch compiles or exports: make the Graph before")
    if torch._C._get_tracing_state() is not None:
        raise SleyUnsupportedError(f"torch.jit.trace would keep the values that {what} has now: make the Graph before")
    return inner


def one_by_one(call: Callable[..., Any]) -> Rule:
    """A rule for vmap: calls in turn, whose results are stacked."""
    def rule(size: int, dims: tuple[Any, ...], arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        made = [call(*(each if dim is None else each.select(dim, i) for each, dim in zip(arguments, dims, strict=True)))
                for i in range(size)]
        if isinstance(made[0], Tensor):
            return torch.stack(made), 0
        return tuple(torch.stack(each) for each in zip(*made, strict=True)), (0,) * len(made[0])

    return rule


def batch(x: Tensor, dim: int | None, size: int) -> Tensor:
    """With the dimension of vmap in front, repeated where there is none."""
    return x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def side_by_side(x: Tensor) -> Tensor:
    """size x rows x width as rows x (size width): one matrix, whose rows are those of all."""
    size, rows, width = x.shape
    return x.movedim(0, 1).reshape(rows, size * width)


def apart(x: Tensor, size: int) -> tuple[Tensor, int]:
    """The reverse, and where the dimension of vmap is."""
    rows, width = x.shape
    return x.reshape(rows, size, width // size), 1


def function_of(name: str, op: Any, tensors: tuple[int, ...], setup: Callable[..., None],
                backward: Callable[..., Any], jvp: Callable[..., Any] | None, rule: Rule) -> Any:
    """The autograd.Function of an operator with rules. jvp(arguments, tangents): the tangent of the result; a tangent
    is None where the argument has none."""
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        setup(ctx, inputs, output)
        ctx.save_for_forward(*(inputs[i] for i in tensors))
        ctx.sley_arguments = tuple(None if i in tensors else each for i, each in enumerate(inputs))

    def forward_rule(ctx: Any, *tangents: Any) -> Any:
        if jvp is None:
            raise NotImplementedError(f"sley::{name} has no derivative in forward mode: detach its operands")
        arguments = list(ctx.sley_arguments)
        for place, each in zip(tensors, ctx.saved_tensors, strict=True):
            arguments[place] = each
        return _one_level_below(jvp, arguments, tangents)

    def vmap(info: Any, dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, Any]:
        return rule(info.batch_size, dims, arguments)

    methods: dict[str, Any] = {"forward": lambda *arguments: op(*arguments), "setup_context": setup_context,
                               "backward": backward, "jvp": forward_rule, "vmap": vmap}
    return type(f"Sley_{name}_with_rules", (torch.autograd.Function,),
                {key: staticmethod(each) for key, each in methods.items()})


def _one_level_below(jvp: Callable[..., Any], arguments: list[Any], tangents: tuple[Any, ...]) -> Any:
    """The tangent by a rule, for the transforms around the one that asks for it: torch runs rules with forward mode
    off, so that the tangent of a tangent would be 0."""
    if _top() is None:
        return jvp(tuple(arguments), tangents)
    interpreter = retrieve_current_functorch_interpreter()
    level = interpreter.level()

    def inner(given: Any) -> Any:
        return _functorch._unwrap_for_grad(given, level) if isinstance(given, Tensor) else given

    with forward_ad._set_fwd_grad_enabled(True), interpreter.lower():
        made = jvp(tuple(map(inner, arguments)), tuple(map(inner, tangents)))
    return _functorch._wrap_for_grad(made, level)


def pull_back(function: Callable[..., Any], operands: tuple[Tensor, ...], gradient: Any) -> tuple[Any, ...]:
    """Gradients of a function's operands from that of its result, which can be differentiated again."""
    if _top() is not None or forward_mode():
        return torch.func.vjp(function, *operands)[1](gradient)
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        given = tuple(each if each.requires_grad else each.detach().requires_grad_() for each in operands)
        return torch.autograd.grad(function(*given), given, gradient, allow_unused=True, create_graph=again)


def under_functorch(name: str, op: Any, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The operator where a transform of torch.func looks on: call(*arguments), but for functionalization, which an
    operator that changes nothing goes through as it is."""
    keys = [each.key() for each in retrieve_all_functorch_interpreters()]
    if TransformType.Functionalize not in keys:
        return call(*arguments)
    if keys[-1] != TransformType.Functionalize:
        raise NotImplementedError(f"sley::{name}: torch.func.functionalize around another transform: functionalize "
                                  "inside of it")
    top: Any = retrieve_current_functorch_interpreter()
    api = FunctorchFunctionalizeAPI(top)
    inner = api.unwrap_tensors(arguments)
    with api.redispatch_to_next():
        made = op(*inner)
    return api.wrap_tensors(made)
