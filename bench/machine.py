#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the facts on which a benchmark's figures depend: processor, system, versions, commit, time. --into FILE
instead writes them into that JSON file as "machine", by which bench/report.py detects whether the code has changed since."""
import datetime
import json
import os
import platform
import subprocess
import sys


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


FOUND = {
    "processor": processor(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
    "compiler": output("cc", "--version").splitlines()[0],
    "commit": output("git", "rev-parse", "--short", "HEAD"), "changed": bool(output("git", "status", "--porcelain", "src", "cli")),
    "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes"),
    "numpy": version("numpy"), "scipy": version("scipy"), "mkl": version("mkl")}
if sys.argv[1:2] == ["--into"]:
    with open(sys.argv[2], encoding="utf-8") as stream:
        found = json.load(stream)
    with open(sys.argv[2], "w", encoding="utf-8") as stream:
        json.dump({**found, "machine": FOUND}, stream, indent=1)
        stream.write("\n")
else:
    print(json.dumps(FOUND, indent=1))
