# SPDX-License-Identifier: Apache-2.0
"""Training steps that are replayed as a CUDA graph."""
import torch

WARM = 3  # steps before one is captured, in which plans are made and torch's allocator reserves the memory of a step


def captured(step):
    """Returns a function that replays one step of a training, whose optimizer is capturable."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
