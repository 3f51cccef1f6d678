# SPDX-License-Identifier: Apache-2.0
"""Support of operators for transforms of torch: forward mode, vmap and the others of torch.func, functionalization.

An operator supports a transform in one of two ways. Either it has rules: an autograd.Function with `jvp` and `vmap`. Or
it has parts: the same function composed of other operators, which have rules. Plain calls use no code of this file.
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
# Arguments: size of the batch, batch dimension of each argument or None, arguments. Returns the result and its batch
# dimension.
Rule = Callable[[int, tuple[Any, ...], tuple[Any, ...]], tuple[Any, Any]]
_forward_enabled = torch._C._is_fwd_grad_enabled
_top = _functorch.peek_interpreter_stack
_TRACER = torch._C._dispatch_key_parse("Tracer")


def forward_mode() -> bool:
    """Whether forward mode is active, so that tensors may have tangents."""
    return forward_ad._current_level >= 0 and _forward_enabled()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Hides the computations of this block from transforms, modes, tracers and gradients, for objects that are created
    once and kept."""
    with (temporarily_clear_interpreter_stack(), _disable_current_modes(), torch.inference_mode(False),
          torch.no_grad(), forward_ad._set_fwd_grad_enabled(False), _without_tracer()):
        yield


@contextlib.contextmanager
def _without_tracer() -> Iterator[None]:
    """Suspends torch.jit.trace, unless it is already suspended, as in implementations of operators."""
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
    """The values of a tensor that are read once and kept. Refuses a tensor whose values are not known now, or may
    differ in a later run of a recorded program, or for which a transform would wrongly compute a derivative of 0."""
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
    """A rule for vmap: calls the operator for each element of the batch, and stacks the results."""
    def rule(size: int, dims: tuple[Any, ...], arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        made = [call(*(each if dim is None else each.select(dim, i) for each, dim in zip(arguments, dims, strict=True)))
                for i in range(size)]
        if isinstance(made[0], Tensor):
            return torch.stack(made), 0
        return tuple(torch.stack(each) for each in zip(*made, strict=True)), (0,) * len(made[0])

    return rule


def batch(x: Tensor, dim: int | None, size: int) -> Tensor:
    """x with the batch dimension in front; repeated if x has no batch dimension."""
    return x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def side_by_side(x: Tensor) -> Tensor:
    """Reshapes size x rows x width to rows x (size width): one matrix that has the rows of all elements side by
    side."""
    size, rows, width = x.shape
    return x.movedim(0, 1).reshape(rows, size * width)


def apart(x: Tensor, size: int) -> tuple[Tensor, int]:
    """The reverse of `side_by_side`, and the batch dimension."""
    rows, width = x.shape
    return x.reshape(rows, size, width // size), 1


def function_of(name: str, op: Any, tensors: tuple[int, ...], setup: Callable[..., None],
                backward: Callable[..., Any], jvp: Callable[..., Any] | None, rule: Rule) -> Any:
    """The autograd.Function of an operator with rules. jvp(arguments, tangents) returns the tangent of the result; a
    tangent is None if the argument has none."""
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
    """Computes a tangent by a rule, visible to the outer transforms. Torch runs rules with forward mode off, so
    otherwise the tangent of a tangent would be 0."""
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
    """Gradients with respect to a function's operands from the gradient of its result; they can be differentiated
    again."""
    if _top() is not None or forward_mode():
        return torch.func.vjp(function, *operands)[1](gradient)
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        given = tuple(each if each.requires_grad else each.detach().requires_grad_() for each in operands)
        return torch.autograd.grad(function(*given), given, gradient, allow_unused=True, create_graph=again)


def under_functorch(name: str, op: Any, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Calls the operator under a transform of torch.func: call(*arguments), except under functionalization, which
    passes operators without side effects through unchanged."""
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
