# SPDX-License-Identifier: Apache-2.0
"""Tables of the results below bench/results, a module for each kind of results. Each module has report(folder), which prints
Markdown. bench/report.py calls them; modules of bench/ that measure print their tables by `bench/report.py --print FOLDER`."""
import json
import math
import os


def load(*path):
    with open(os.path.join(*path), encoding="utf-8") as stream:
        return json.load(stream)


def read_lines(path):
    """Objects in a file of JSON lines; none if there is no file. An incomplete last line is ignored."""
    records = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                try:
                    records.append(json.loads(line))
                except ValueError:
                    break
    return records


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(max(v, 1e-12)) for v in values) / len(values)) if values else float("nan")


def number(value, form):
    return "" if value is None else format(value, form)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()
