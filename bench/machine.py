#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The facts on which a benchmark's figures depend: processor or GPUs, system, versions, commit, time. bench/report.py detects
by them whether the code has changed since. The commit is $SLEY_COMMIT, else git's, else unknown.

    bench/machine.py [gpu]     prints them as JSON"""
import ctypes
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys


def output(*command):
    """What a command prints; "" if it fails."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        return next((line.split(":", 1)[1].strip() for line in stream if line.startswith("model name")), platform.processor())


def nccl_version():
    try:
        found = ctypes.c_int()
        ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(found))
        return f"{found.value // 10000}.{found.value // 100 % 100}.{found.value % 100}"
    except (OSError, AttributeError):
        return ""


def gpus():
    found = output("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader").splitlines()
    name, memory, driver = ([part.strip() for part in found[0].split(",")] + ["", ""])[:3] if found else ("", "", "")
    nvcc = next((line.split("release")[1].strip() for line in output("nvcc", "--version").splitlines() if "release" in line), "")
    return {"gpu": name, "gpus": len(found), "memory": memory, "driver": driver, "nvcc": nvcc, "nccl": nccl_version()}


def describe(device="cpu"):
    """The facts for measurements on a device, whose name begins with cuda for GPUs."""
    on_gpu = device.startswith("cuda")
    shared = {"cores": len(os.sched_getaffinity(0)), "system": platform.platform(), "compiler": (output("cc", "--version").splitlines() or [""])[0],
              "commit": os.environ.get("SLEY_COMMIT") or output("git", "rev-parse", "--short", "HEAD") or "unknown",
              "changed": bool(output("git", "status", "--porcelain", "src", "cli")),
              "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes")}
    if on_gpu:
        return {**gpus(), **shared}
    return {"processor": processor(), **shared, **{package: version(package) for package in ("numpy", "scipy", "mkl")}}


if __name__ == "__main__":
    print(json.dumps(describe("cuda" if sys.argv[1:] == ["gpu"] else "cpu"), indent=1))
