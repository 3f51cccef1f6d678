#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, what a benchmark's figures depend on: processor, system, versions, commit, time."""
import datetime
import json
import os
import platform
import subprocess


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def version(package):
    import importlib.metadata
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor():
    with open("/proc/cpuinfo") as stream:
        for line in stream:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


print(json.dumps({
    "processor": processor(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
    "compiler": output("cc", "--version").splitlines()[0],
    "commit": output("git", "rev-parse", "--short", "HEAD"), "changed": bool(output("git", "status", "--porcelain", "src", "cli")),
    "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes"),
    "numpy": version("numpy"), "scipy": version("scipy"), "mkl": version("mkl")}, indent=1))
