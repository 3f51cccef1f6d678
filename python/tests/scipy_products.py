# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest that runs SciPy's own tests with Sley's products in place of SciPy's.

Products of types that Sley has not (complex, integers, which wrap around, longdouble, objects) are passed on to SciPy.
How many products Sley made, and how many were passed on and why, is printed; a run in which it made none fails.
Usage: run.sh ROOT LIBRARY scipy [--share=PERCENT] [--draw=SEED] [--patch]
"""
import collections
import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse._sputils import upcast

import sley

Product = Callable[[Any, Any], Any]
# What SciPy calls its products, in its versions.
_DENSE = {"_mul_vector", "_mul_multivector", "_matmul_vector", "_matmul_multivector"}
_SPARSE = {"_mul_sparse_matrix", "_matmul_sparse"}
_made: "collections.Counter[str]" = collections.Counter()
_passed: "collections.Counter[str]" = collections.Counter()


def _reason(a: Any, b: Any) -> str:
    """Why a product is not Sley's; "" if it is."""
    if any(each.dtype.kind == "O" for each in (a, b)):
        return "object"
    try:
        dtype = upcast(a.dtype, b.dtype)
    except TypeError:
        return "a type that SciPy does not multiply"
    return "" if dtype in (np.float32, np.float64) and a.ndim == 2 else np.dtype(dtype).name


def _sparse_result(a: Any, b: Any) -> Any:
    """A B in the format and class in which SciPy returns it."""
    made = sley.spgemm(a, b, threads=1).to_scipy()
    csr = a._csr_container((made.data, made.indices, made.indptr), shape=made.shape)
    if a.format == "bsr" and b.format == "bsr":
        return csr.tobsr(blocksize=(a.blocksize[0], b.blocksize[1]))
    return csr.asformat(a.format) if a.format in ("csc", "bsr") else csr


def _dense_result(a: Any, x: Any) -> Any:
    return sley.spmm(a, x)


def _instead(name: str, old: Product, own: Product) -> Product:
    @functools.wraps(old)
    def product(a: Any, b: Any) -> Any:
        reason = _reason(a, b)
        if not reason:
            try:
                made = own(a, b)
            except sley.SleyOverflowError:
                reason = "an integer beyond 2^53"
        if reason:
            _passed[reason] += 1
            return old(a, b)
        assert made.dtype == upcast(a.dtype, b.dtype), f"{name}: {a.dtype} and {b.dtype} made {made.dtype}"
        _made[name.lstrip("_")] += 1
        return made

    return product


def _classes(kind: type) -> set[type]:
    return {kind}.union(*(_classes(each) for each in kind.__subclasses__()))


def _replace() -> None:
    """All that SciPy's sparse classes define of these names."""
    bases = {each for format in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
             for kind in ("array", "matrix") for each in getattr(scipy.sparse, f"{format}_{kind}").__mro__}
    for kind in {each for base in bases if base.__module__.startswith("scipy.sparse") for each in _classes(base)}:
        for name in (_DENSE | _SPARSE) & vars(kind).keys():
            own = _dense_result if name in _DENSE else _sparse_result
            setattr(kind, name, _instead(name, vars(kind)[name], own))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--patch", action="store_true", help="only sley.patch_scipy(least=0), for products of every size")
    parser.addoption("--share", type=float, default=100.0, help="percent of the tests, which are drawn")
    parser.addoption("--draw", type=int, default=None, help="the seed by which they are drawn; by default a new one")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share, seed = config.getoption("--share"), config.getoption("--draw")
    config.draw = random.SystemRandom().randrange(2**31) if seed is None else seed  # type: ignore[attr-defined]
    drawn = random.Random(config.draw)  # type: ignore[attr-defined]
    kept = [each for each in items if drawn.random() * 100 < share]
    config.hook.pytest_deselected(items=[each for each in items if each not in set(kept)])
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--patch"):
        config.patch = sley.patch_scipy(least=0)  # type: ignore[attr-defined]
    else:
        _replace()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "patch"):
        _made["patched"] = session.config.patch.products
    if not _made.total() and not session.config.getoption("--collect-only"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _counts(numbers: "collections.Counter[str]") -> str:
    each = ", ".join(f"{name} {count}" for name, count in sorted(numbers.items()))
    return f"{sum(numbers.values())}" + (f" ({each})" if each else "")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    terminalreporter.write_line(f"SciPy {scipy.__version__}: --share {config.getoption('--share'):g} "
                                f"--draw {getattr(config, 'draw', None)}")
    terminalreporter.write_line(f"products that Sley made: {_counts(_made)}")
    terminalreporter.write_line(f"products passed on to SciPy: {_counts(_passed)}")
