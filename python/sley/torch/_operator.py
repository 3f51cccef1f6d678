# SPDX-License-Identifier: Apache-2.0
"""Registration of operators with torch.library, and calls that bypass the dispatcher.

Each operator has an implementation for CPU and CUDA tensors, one for fake tensors, a rule for autocast, a gradient, and
rules for transforms of torch (`_transform`). In eager mode without modes a call does not need the dispatcher. The
functions then call the implementation directly, or through an autograd.Function with the same formulas, which saves a
few microseconds.
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from sley.errors import SleyUnsupportedError
from sley.torch._transform import Rule, forward_mode, function_of, one_by_one, under_functorch

LIBRARY: Any = torch.library.Library("sley", "DEF")  # type: ignore[no-untyped-call]
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_is_compiling = torch.compiler.is_compiling
_modes = torch._C._len_torch_dispatch_stack
_transforms = torch._C._functorch.peek_interpreter_stack
_autocast = torch._C._is_any_autocast_enabled
_tracing = torch._C._get_tracing_state
_tls_includes, _PRE_DISPATCH = torch._C._dispatch_tls_is_dispatch_key_included, torch._C.DispatchKey.PreDispatch
_keys_of = torch._C._dispatch_keys
_grad_enabled = torch.is_grad_enabled
_below_autograd = torch._C._after_autograd_keyset
_BACKENDS = (torch._C.DispatchKey.CPU, torch._C.DispatchKey.CUDA)


def _keys(*names: str) -> int:
    made = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, names[0]))
    for each in names[1:]:
        made = made | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, each))
    return int(made.raw_repr())


# Dispatch keys of tensors with plain memory, also in inference mode.
_PLAIN_KEYS = frozenset(_keys(kind, f"Autocast{kind}", *more) for kind in ("CPU", "CUDA")
                        for more in ((), ("ADInplaceOrView", f"Autograd{kind}")))


def _eager(places: tuple[int, ...], arguments: tuple[Any, ...]) -> bool:
    """Whether the dispatcher can be bypassed: there is no compiler, mode, transform, tracer, autocast or subclass, and
    all tensors are plain memory (not sparse, lazily negated, wrapped, or without values)."""
    if (_is_compiling() or _modes() or _transforms() is not None or _autocast() or _tracing() is not None
            or forward_ad._current_level >= 0 or _tls_includes(_PRE_DISPATCH)):
        return False
    for place in places:
        each = arguments[place] if place < len(arguments) else None
        if each is not None and (type(each) not in _PLAIN or _keys_of(each).raw_repr() not in _PLAIN_KEYS):
            return False
    return True


def cast_to_autocast(tensor: Tensor, kind: str) -> Tensor:
    """Casts like autocast does for matrix products."""
    wide = tensor.is_floating_point() and tensor.dtype != torch.float64
    return tensor.to(torch.get_autocast_dtype(kind)) if wide else tensor


def cast_to_float32(tensor: Tensor, _kind: str) -> Tensor:
    """Casts like autocast does for sums of exponentials."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def cast_nothing(tensor: Tensor, _kind: str) -> Tensor:
    """Casts nothing, for operators whose result has the type of the operand."""
    return tensor


class Operator:
    """An operator of the library, with its faster path in eager mode.

    Parameters
    ----------
    schema : str
        Name, arguments and results, in torch's schema language.
    run, fake : callable
        The implementation, and the implementation for fake tensors; arguments with default values may be left out.
    setup, backward : callable
        As in an autograd.Function: setup(ctx, all arguments, output); backward returns a gradient, or None, for each
        argument.
    cast : callable
        Function that casts a tensor under autocast.
    subject : int
        Index of the tensor argument that determines the operator's device.
    jvp, vmap : callable
        The rules for forward mode and for vmap, in the form of `function_of` and `one_by_one` of `_transform`.
    parts : callable
        Alternative to rules: the same function, composed of operators that have rules.
    """

    all: "dict[str, Operator]" = {}  # all operators, by name

    def __init__(self, schema: str, run: Callable[..., Any], fake: Callable[..., Any], setup: Callable[..., None],
                 backward: Callable[..., Any], cast: Callable[[Tensor, str], Tensor] = cast_to_autocast, *,
                 subject: int = 1, jvp: Callable[..., Any] | None = None, vmap: Rule | None = None,
                 parts: Callable[..., Any] | None = None) -> None:
        name = self.name = schema[:schema.index("(")]
        Operator.all[name] = self
        LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            LIBRARY.impl(name, run, key)
        torch.library.register_fake(f"sley::{name}", fake, lib=LIBRARY)
        self.run, self._subject, self._cast = run, subject, cast
        self.op = getattr(torch.ops.sley, name).default
        self._tensors = tuple(i for i, each in enumerate(self.op._schema.arguments) if "Tensor" in str(each.type))
        self._defaults = tuple(each.default_value if each.has_default_value() else None
                               for each in self.op._schema.arguments)
        self.function = _function_of(name, run, setup, backward)
        self._transformed = parts or function_of(name, self.op, self._tensors, setup, backward, jvp,
                                                 vmap or one_by_one(self.op)).apply
        LIBRARY.impl(name, self._under_functorch, "FuncTorchDynamicLayerFrontMode")
        LIBRARY.impl(name, self._autograd_kernel(name, setup, backward), "Autograd", with_keyset=True)
        for kind in ("cpu", "cuda"):
            self._add_autocast(name, kind, cast)

    def _autograd_kernel(self, name: str, setup: Callable[..., None], backward: Callable[..., Any]) -> Any:
        """The kernel that the dispatcher calls for autograd. If a backend is next, it calls this backend directly;
        under a mode or compiler it goes through the dispatcher again, which torch.library.register_autograd always
        does."""
        op, run, function, tensors = self.op, self.run, self.function, self._tensors
        defaults, transformed = self._defaults, self._transformed
        plain: dict[int, bool] = {}  # key: a set of dispatch keys

        def redispatch(keyset: Any, arguments: tuple[Any, ...]) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return op.redispatch(keyset & _below_autograd, *arguments)

        def backward_of_all(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            needed = ctx.needs_input_grad
            try:
                ctx.needs_input_grad = needed[:-1]  # the last argument is the set of keys
                return *backward(ctx, *grads), None
            finally:
                ctx.needs_input_grad = needed

        watched = _function_of(name, lambda *given: redispatch(given[-1], given[:-1]),
                               lambda ctx, given, output: setup(ctx, given[:-1], output), backward_of_all)

        def kernel(keyset: Any, *arguments: Any) -> Any:
            if forward_mode():
                return transformed(*arguments, *defaults[len(arguments):])
            keys = keyset.raw_repr()
            is_plain = plain.get(keys)
            if is_plain is None:
                is_plain = plain[keys] = (keyset & _below_autograd).highestPriorityTypeId() in _BACKENDS
            if not (_grad_enabled() and _any_requires_grad(tensors, arguments)):
                return run(*arguments) if is_plain else redispatch(keyset, arguments)
            arguments += defaults[len(arguments):]
            return function.apply(*arguments) if is_plain else watched.apply(*arguments, keyset)

        return kernel

    def _add_autocast(self, name: str, kind: str, cast: Callable[[Tensor, str], Tensor]) -> None:
        key = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}[kind]
        others = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

        def under_autocast(*arguments: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(others):
                return self.op(*(cast(each, kind) if isinstance(each, Tensor) else each for each in arguments))

        LIBRARY.impl(name, under_autocast, key)

    def _under_functorch(self, *arguments: Any) -> Any:
        """The kernel that the dispatcher calls first under a transform of torch.func. It runs before autocast, so it
        casts."""
        arguments += self._defaults[len(arguments):]
        kind = arguments[self._subject].device.type
        if not torch.is_autocast_enabled(kind):
            return under_functorch(self.name, self.op, self._transformed, arguments)
        arguments = tuple(self._cast(each, kind) if isinstance(each, Tensor) else each for each in arguments)
        with torch.autocast(kind, enabled=False):
            return under_functorch(self.name, self.op, self._transformed, arguments)

    def __call__(self, *arguments: Any) -> Any:
        """Calls the operator; all arguments must be given."""
        if not _eager(self._tensors, arguments):
            self._check_layouts(arguments)
            return self.op(*arguments)
        if _grad_enabled() and _any_requires_grad(self._tensors, arguments):
            return self.function.apply(*arguments)
        return self.run(*arguments)

    def _check_layouts(self, arguments: tuple[Any, ...]) -> None:
        for each in arguments:
            if isinstance(each, Tensor) and (each.layout != torch.strided or each.is_nested):
                what = "a nested tensor" if each.is_nested else f"of layout {each.layout}"
                raise SleyUnsupportedError(f"{self.name}: an operand is {what}: take a dense tensor")


def _any_requires_grad(places: tuple[int, ...], arguments: tuple[Any, ...]) -> bool:
    for place in places:
        if place < len(arguments):  # the dispatcher omits default arguments
            each = arguments[place]
            if each is not None and each.requires_grad:
                return True
    return False


def _function_of(name: str, run: Callable[..., Any], setup: Callable[..., None], backward: Callable[..., Any]) -> Any:
    """An autograd.Function. A separate setup_context would cost 30 microseconds per call."""
    def forward(ctx: Any, *arguments: Any) -> Any:
        output = run(*arguments)
        setup(ctx, arguments, output)
        return output

    return type(f"Sley_{name}", (torch.autograd.Function,),
                {"forward": staticmethod(forward), "backward": staticmethod(backward)})
