# SPDX-License-Identifier: Apache-2.0
"""What a developer's own `sley tune` has left must change no test: it is read when the library is first asked. And a share of the
tests, as in the C programs: of SLEY_TEST_SHARE parameters of each test function one, drawn by SLEY_TEST_SEED."""
import os
import random

os.environ["SLEY_MACHINE"] = "builtin"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # PyTorch's: tensors are small, and its threads wait by looking on

SHARE = max(1, int(os.environ.get("SLEY_TEST_SHARE") or 1))
SEED = int(os.environ.get("SLEY_TEST_SEED") or random.SystemRandom().randrange(10**9))


def pytest_report_header():
    return f"one parameter in {SHARE} of each test, drawn by SLEY_TEST_SEED={SEED}"


def pytest_collection_modifyitems(config, items):
    if SHARE == 1:
        return
    draw = random.Random(SEED)
    functions = {}
    for item in items:
        functions.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = set()
    for each in functions.values():
        kept.update(draw.sample(each, max(1, len(each) // SHARE)))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_terminal_summary(terminalreporter):
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"SLEY_TEST_SHARE={SHARE} SLEY_TEST_SEED={SEED}")
