#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the speeds in the documents from bench/results: docs/PERFORMANCE.md and its pictures, the tables beside the results,
and the text between the marks `figures` in README.md and docs/START.md, so that no figure is copied by hand.

    bench/report.py                 writes them
    bench/report.py --check         ends with 1 where one of them says something else: a test
    bench/report.py --print FOLDER  prints the tables of a folder of results
    bench/report.py --run SLEY      first runs the commands whose output is shown anew; their files are looked for in $SLEY_DATA

A claim of bench/claims.py is shown while the code that it measures is unchanged since the commit in its files; the others are
listed as to be measured again. Comments, spaces, moves and additions are not changes (bench/measured.py). A change that cannot
affect the time is listed, after a review, in a file `unchanged` beside the results, one line each: FILE COMMIT REASON; FILE
then counts as measured at COMMIT."""
import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap

import claims
import measured
import pictures
from tables import collective, cpu, growth, gpu, kernels, load, networks, ops, read_lines, spgemm

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = claims.RESULTS
SETS = {"collective": collective.report, "cpu": cpu.report, "drawn": kernels.report_drawn, "gnn": networks.report, "gpu-h200-x2": gpu.old_and_new,
        "growth": growth.report, "ops": ops.report, "overlap": gpu.overlap, "spgemm": spgemm.report, "torch": networks.report_torch}
KINDS = {"gpu-": gpu.report, "kernels-": kernels.kernels, "tensor-": kernels.report_choice}  # by the start of the folder's name
SHOWN = {"README.md": ["spmm", "speeds"], "docs/START.md": ["crawl"]}
MARKS = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def wrapped(text):
    """Wraps lines at 100 columns, except tables, titles and pictures."""
    return "".join(line + "\n" if line.startswith(("|", "#", "!")) else textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False) + "\n"
                   for line in text.rstrip("\n").splitlines())


def tables_of(folder):
    """The tables of a folder of results; None if its kind is unknown."""
    name = os.path.basename(os.path.abspath(folder))
    report = SETS.get(name) or next((kind for start, kind in KINDS.items() if name.startswith(start)), None)
    if not report and os.path.exists(os.path.join(folder, "machine.json")):
        report = gpu.report
    if not report:
        return None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        report(folder)
    title, rest = out.getvalue().split("\n", 1)
    return wrapped(f"{title}\n\nMade by `bench/report.py` from the files beside this one; do not edit.\n{rest}")


def machine_of(name):
    """The machine in a file of results, or in machine.json beside it; {} if neither has it."""
    path = os.path.join(RESULTS, name)
    if name.endswith(".jsonl"):
        found = next((record for record in read_lines(path) if "commit" in record), {})
    else:
        found = load(path).get("machine") or {}
    beside = os.path.join(os.path.dirname(path), "machine.json")
    alone = name.startswith("gpu-") and os.path.exists(beside)  # older results have no record of their own
    return {**(load(beside) if alone else {}), **found} if isinstance(found, dict) else {}


def reviewed(name):
    """(commit, reason) from the `unchanged` file beside a file of results; None if there is none."""
    path = os.path.join(RESULTS, os.path.dirname(name), "unchanged")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                words = line.split(None, 2)
                if words and words[0] == os.path.basename(name):
                    return words[1], words[2].strip()
    return None


def refusal(name, code):
    """Why a file of results is not valid for code: a sentence, or the names of what changed; None if it is valid."""
    machine, note = machine_of(name), reviewed(name)
    if "commit" not in machine:
        return "the file holds no commit"
    if machine.get("changed"):
        return "measured with changes that are in no commit"
    for commit in [machine["commit"]] + ([note[0]] if note else []):
        if not measured.known(ROOT, commit):
            return f"{commit} is in no history here"
    return measured.changes(ROOT, note[0] if note else machine["commit"], code) or None


def reasons(claim):
    """Why a claim is not valid, "" if it is; and the definitions that changed."""
    found = [refusal(name, claim.code) for name in claim.files]
    names = sorted({each for one in found if isinstance(one, list) for each in one})
    out = list(dict.fromkeys(one for one in found if isinstance(one, str)))
    if names:
        out.append("its code has changed")
    return "; ".join(out), names


def place(machine):
    if "gpu" in machine:
        return f"{machine.get('gpus', 1)} x {machine['gpu']}"
    return f"{machine['processor']}, {machine['cores']} cores" if "processor" in machine else "?"


def commits(claim):
    return ", ".join(dict.fromkeys(machine_of(name).get("commit", "?") for name in claim.files))


def link(name):
    return f"[`{name}`](../bench/results/{os.path.dirname(name)}/README.md)"


def picture_of(claim):
    rows = [(bar.label, bar.mean, min(bar.ratios), max(bar.ratios), bar.short) for bar in claim.bars()]
    return pictures.bars(f"{claim.what}: Sley's speed, the other's = 1", rows)


def stands(claim):
    """The lines of a valid claim; without a picture if it has no bars."""
    notes = dict.fromkeys(note[1] for note in map(reviewed, claim.files) if note)
    places = ", ".join(dict.fromkeys(place(machine_of(name)) for name in claim.files))
    lines = [f"## {claim.what}: {claim.sentence()}", ""]
    if claim.bars:
        lines += [f"![{claim.sentence()}](img/performance_{claim.name}.svg)", ""]
    if claim.note():
        lines += [claim.note(), ""]
    lines += [f"`{claim.command}` on {places}; commit {commits(claim)}; tables: {', '.join(link(name) for name in claim.files)}."]
    return lines + ["Reviewed since then: " + " ".join(notes)] * bool(notes) + [""]


def page(standing, refused):
    lines = ["# Performance", "", "`bench/report.py` makes this page from `bench/results`; do not edit it. Every time is the median or the minimum of runs in turn with the rival, "
             "on the same machine and in the same run, and every product was checked. Bars are geometric means of the rival's time divided by Sley's; thin lines "
             "reach from the worst case to the best. A claim is on this page as long as the measured code is unchanged, or as long as a review beside the results says why a change does not affect it.", ""]
    for claim in standing:
        lines += stands(claim)
    lines += ["## To be measured again", "", "The code behind these measurements changed after their commit, or their files name no commit. They are not claims about the current code; "
              "the tables describe the code at that commit.", "", "| measurement | result | commit | since then | command |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| [{claim.what}](../bench/results/{os.path.dirname(claim.files[0])}/README.md) | {claim.sentence()} | {commits(claim)} | {why} | `{claim.command}` |"
              for claim, why, _ in refused]
    return wrapped("\n".join(lines))


def speeds(standing):
    standing = [claim for claim in standing if claim.bars]
    lines = [f"![{standing[0].sentence()}](docs/img/performance_{standing[0].name}.svg)", ""] if standing else []
    lines += ["| | Sley is | on |", "|---|---|---|"]
    return "\n".join(lines + [f"| {claim.what} | {claim.bars()[0].words} | {place(machine_of(claim.files[0]))} |" for claim in standing])


def shown(name):
    """A command and its output."""
    with open(os.path.join(RESULTS, "readme", name + ".txt"), encoding="utf-8") as stream:
        return "```\n" + stream.read().rstrip("\n") + "\n```"


def marked(path, standing):
    """A document with its figures updated; standing = None: the table of speeds stays as it is."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        text = stream.read()
    names = [match[2] for match in MARKS.finditer(text)]
    if names != SHOWN[path]:
        raise SystemExit(f"{path} has the figures {names}, and should have {SHOWN[path]}")

    def figure(match):
        if match[2] == "speeds":
            return match[0] if standing is None else f"{match[1]}{speeds(standing)}\n{match[3]}"
        return f"{match[1]}{shown(match[2])}\n{match[3]}"
    return MARKS.sub(figure, text)


def run_again(sley):
    for name in sorted(os.listdir(os.path.join(RESULTS, "readme"))):
        path = os.path.join(RESULTS, "readme", name)
        with open(path, encoding="utf-8") as stream:
            command = stream.readline().rstrip("\n")
        data = os.environ.get("SLEY_DATA", os.path.join(ROOT, "..", "shared", "data"))
        found = subprocess.run([os.path.abspath(sley), *command.removeprefix("$ sley ").split()], check=True, capture_output=True, text=True,
                               cwd=data if os.path.isdir(data) else None, env={**os.environ, "COLUMNS": "100"})
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(command + "\n" + found.stdout)


def judge():
    """The valid claims, and the others with the reason and the definitions that changed."""
    standing, refused = [], []
    for claim in claims.CLAIMS:
        why, names = reasons(claim)
        if why:
            refused.append((claim, why, names))
        else:
            standing.append(claim)
    return standing, refused


def made(judged):
    """{path: text} of everything that is written; judged: the result of judge(), or None without a history, for the parts that do
    not depend on it."""
    files = {}
    for name in sorted(os.listdir(RESULTS)):
        tables = tables_of(os.path.join(RESULTS, name))
        if tables:
            files[f"bench/results/{name}/README.md"] = tables
    files["bench/results/growth/growth.svg"] = growth.picture(os.path.join(RESULTS, "growth"))
    standing = None
    if judged:
        standing, refused = judged
        files["docs/PERFORMANCE.md"] = page(standing, refused)
        files.update({f"docs/img/performance_{claim.name}.svg": picture_of(claim) for claim in standing if claim.bars})
    files.update({path: marked(path, standing) for path in SHOWN})
    return files


def left_over(files):
    """Pictures of claims that are no longer valid."""
    folder = os.path.join(ROOT, "docs", "img")
    return [path for path in (f"docs/img/{name}" for name in sorted(os.listdir(folder)) if name.startswith("performance_")) if path not in files]


def written(path):
    with contextlib.suppress(FileNotFoundError), open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        return stream.read()
    return None


def check_files():
    """Checks that every file of results belongs to a claim, and that every claim has its files."""
    wanted = {name for claim in claims.CLAIMS for name in claim.files}
    # gpu-h200-x2 compares two commits; bench/papers/*/page.py make their own pages of rdma and spccl
    found = {name for name in claims.files_of_sets() if not name.startswith(("gpu-h200-x2/", "rdma/", "spccl/"))}
    if wanted != found:
        raise SystemExit(f"bench/claims.py and bench/results differ: {', '.join(sorted(wanted ^ found))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--print", metavar="FOLDER", dest="folder")
    parser.add_argument("--run", metavar="SLEY")
    options = parser.parse_args()
    if options.folder:
        print(tables_of(options.folder) or sys.exit(f"{options.folder}: no such kind of results is known"), end="")
        return
    if options.run:
        run_again(options.run)
    check_files()
    history = measured.whole(ROOT)
    if not history and not options.check:
        sys.exit("without the history of the repository nobody knows which code was measured")
    judged = judge() if history else None
    files = made(judged)
    wrong = [path for path, text in files.items() if written(path) != text] + (left_over(files) if history else [])
    if options.check and wrong:
        sys.exit(f"run bench/report.py: it writes otherwise {', '.join(wrong)}")
    if not options.check:
        for claim, _, names in judged[1]:
            if names:
                print(f"{claim.what}: since it was measured {', '.join(names)}")
        for path in wrong:
            if path in files:
                with open(os.path.join(ROOT, path), "w", encoding="utf-8") as stream:
                    stream.write(files[path])
            else:
                os.remove(os.path.join(ROOT, path))
    print(f"{len(files)} files agree with bench/results" + ("" if history else "; claims were not checked: there is no history here") if options.check
          else f"{len(wrong)} files written")


if __name__ == "__main__":
    main()
