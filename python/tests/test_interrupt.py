# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends what runs, with KeyboardInterrupt, and the library works on."""
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sley
from sley import _calls, _ranks
from sley._library import lib

GRAPH = "rmat:scale=17,edgefactor=16"


def limit() -> float:
    """A second, where nothing else runs; more where so many programs share each core."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def seconds_to_end(work: Callable[[], object], raised: type[BaseException] = KeyboardInterrupt) -> float:
    """Repeats the work until SIGINT, which comes while it runs; returns how long it then went on.

    Python drops what a handler raises in some places, so SIGINT comes again where the first has not ended the work: as
    a failure of what is asked of the time, and not as a test that hangs.
    """
    sent = []
    ended = threading.Event()

    def send() -> None:
        wait = 0.3
        while not ended.wait(wait):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
            wait = 30.0

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(raised):
        while True:
            work()
    now = time.perf_counter()
    ended.set()
    sender.join()
    return now - sent[0]


def end_of(work: Callable[[], object]) -> float:
    """The shortest of three, since other programs may have the cores."""
    return min(seconds_to_end(work) for _ in range(3))


def test_calls_of_one_thread(tmp_path: Path) -> None:
    a = sley.generate(GRAPH)
    path = tmp_path / "a.mtx.gz"
    for work in (lambda: sley.generate("rmat:scale=20,edgefactor=16"), lambda: sley.order(a), lambda: a.T,
                 lambda: a.write(path)):
        assert end_of(work) < limit()
    assert list(tmp_path.iterdir()) == [] or path.exists()
    assert sley.generate("er:n=10,nnz=20").shape == (10, 10)


@pytest.mark.parametrize("ranks", [1, 4, 65])
def test_products(ranks: int) -> None:
    a = sley.generate(GRAPH)
    x = np.ones((a.shape[1], 32))
    assert end_of(lambda: sley.spmm(a, x, ranks=ranks)) < limit()
    with sley.Plan(a, 32, ranks=ranks) as plan:
        assert seconds_to_end(lambda: plan(x)) < 10 * limit()
        if ranks > 1:
            with pytest.raises(sley.SleyPeerError, match="interrupted"):
                plan(x)
    assert np.allclose(sley.spmm(a, x, ranks=ranks), a.to_scipy() @ x)


@pytest.mark.parametrize("threads", [1, 2])
def test_sparse_products(threads: int) -> None:
    a, small = sley.generate(GRAPH), sley.generate("rmat:scale=15,edgefactor=8")
    for work in (lambda: sley.spgemm(a, a, mask=a, threads=threads),
                 lambda: sley.spgemm(small, small, threads=threads),
                 lambda: sley.spgemm(small, small, transpose_b=True, mem_limit=1 << 30, threads=threads)):
        assert end_of(work) < limit()
    assert sley.spgemm(np.eye(3), np.eye(3)).nnz == 3


def test_another_handler_is_called() -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGINT, stop)
    try:
        seconds_to_end(lambda: sley.generate(GRAPH), Stop)
        assert signal.getsignal(signal.SIGINT) is stop
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_comes_in_a_finalizer() -> None:
    """Python would drop KeyboardInterrupt there."""
    class Owner:
        pass

    def destroy(given: str) -> None:
        destroyed.append(given)
        os.kill(os.getpid(), signal.SIGINT)

    destroyed: list[str] = []
    owner = Owner()
    _calls.destroy_later(owner, destroy, "handle")
    with pytest.raises(KeyboardInterrupt):
        del owner
        time.sleep(30)
    assert destroyed == ["handle"]
    assert not lib.sley_interrupt_clear()


def test_the_program_ends() -> None:
    """With the status and the traceback of Python's own, also in a product of four ranks."""
    program = ("import numpy as np, sley; a = sley.generate('rmat:scale=16,edgefactor=16')\n"
               "x = np.ones((a.shape[1], 32)); print('ready', flush=True)\nwhile True: sley.spmm(a, x, ranks=4)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors


def test_a_program_may_end_without_closing() -> None:
    """Its ranks have ended before Python does, also where another's finalizer, and so its hook at exit, is older."""
    program = ("import atexit, threading, weakref\n"
               "atexit.register(lambda: print([each.name for each in threading.enumerate()]))\n"
               "older = threading.Event(); weakref.finalize(older, str)\n"
               "import numpy as np, sley; a = sley.generate('er:n=100,nnz=500')\n"
               "plans = [sley.Plan(a, 4, ranks=r) for r in (1, 3)]; comm = sley.Comm(2)\n"
               "print(plans[1](np.ones((100, 4))).shape)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stdout, made.stderr) == (0, "(100, 4)\n['MainThread']\n", "")


def test_a_signal_that_comes_with_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just as a job has ended: its reply is taken already, and nobody waits for it without end."""
    class Reply:
        def __init__(self) -> None:
            self.queue: queue.SimpleQueue[None] = queue.SimpleQueue()
            self.put, self.taken = self.queue.put, 0

        def get(self) -> None:
            self.queue.get()
            self.taken += 1
            if self.taken == 1:
                raise KeyboardInterrupt

    made = _ranks._Task.__init__

    def with_signal(task: _ranks._Task, job: _ranks.Job) -> None:
        made(task, job)
        task.reply = Reply()  # type: ignore[assignment]

    ended = []

    def work() -> None:
        comm = sley.Comm(3)
        monkeypatch.setattr(_ranks._Task, "__init__", with_signal)
        with pytest.raises(KeyboardInterrupt):
            sley.Plan(np.eye(5), 2, comm=comm)
        monkeypatch.undo()
        with pytest.raises(sley.SleyPeerError, match="interrupted"):
            sley.Plan(np.eye(5), 2, comm=comm)
        comm.close()
        ended.append(True)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert ended
