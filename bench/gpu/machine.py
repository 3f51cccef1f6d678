#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the facts on which a GPU benchmark's figures depend. The commit is $SLEY_COMMIT, else git's, else unknown."""
import ctypes
import datetime
import json
import os
import platform
import subprocess


def output(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def nccl_version():
    try:
        version = ctypes.c_int()
        ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(version))
        return f"{version.value // 10000}.{version.value // 100 % 100}.{version.value % 100}"
    except (OSError, AttributeError):
        return ""


def fields(text, count):
    parts = [part.strip() for part in text.split(",")]
    return parts + [""] * (count - len(parts))


gpus = output("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader").splitlines()
name, memory, driver = fields(gpus[0] if gpus else "", 3)[:3]
nvcc = [line for line in output("nvcc", "--version").splitlines() if "release" in line]
print(json.dumps({
    "gpu": name, "gpus": len(gpus), "memory": memory, "driver": driver,
    "nvcc": nvcc[0].split("release")[1].strip() if nvcc else "", "nccl": nccl_version(), "cores": len(os.sched_getaffinity(0)),
    "system": platform.platform(), "compiler": (output("cc", "--version").splitlines() or [""])[0],
    "commit": os.environ.get("SLEY_COMMIT") or output("git", "rev-parse", "--short", "HEAD") or "unknown",
    "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes")}, indent=1))
