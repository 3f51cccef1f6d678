# SPDX-License-Identifier: Apache-2.0
"""Measures how much GPU memory a program uses while it runs."""
import threading

import torch


class MemoryWatch:
    """A context; afterwards `taken` is the most bytes of the first device that other processes used. Samples every period_s."""

    def __init__(self, period_s):
        self.period_s = period_s

    def __enter__(self):
        torch.cuda.synchronize()
        self.before = self.least = torch.cuda.mem_get_info(0)[0]
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.ends.wait(self.period_s):
            self.least = min(self.least, torch.cuda.mem_get_info(0)[0])

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        self.taken = self.before - self.least
