# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts for tables and figures of papers: options, files of results, sections of pages."""
import os
import shlex
import sys
import textwrap

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import pictures  # noqa: E402, F401 (for charts.py)


def results(folder):
    """The folder of a paper's results."""
    return os.path.join(common.BENCH, "results", folder)


def parser_of(doc, folder, name):
    """A parser with the options of all scripts of a paper; name: of the file of results."""
    parser = common.Parser(doc)
    parser.add("--sley", common.SLEY, "the command")
    parser.add("--seed", 1)
    parser.add("--json", os.path.join(results(folder), name + ".json"), "file for the figures")
    parser.add("--plot", os.path.join(results(folder), name + ".svg"), "file for the picture")
    return parser


def start(parser):
    args = parser.parse_args()
    parser.check(args)
    if not os.path.exists(args.sley):
        parser.error(f"--sley {args.sley}: there is no such file")
    args.sley = os.path.abspath(args.sley)
    return args


def end(args, what, theirs, differs, **found):
    """Writes the file of results: what was found, the paper's values, what differs, the command and its options."""
    words = [os.path.relpath(sys.argv[0], common.ROOT), *sys.argv[1:]]
    options = {name: value for name, value in vars(args).items() if name not in ("json", "plot", "sley", "data")}
    common.save(args.json, {"what": what, "command": "python3 " + shlex.join(words), "options": options, "differs": differs, "paper": theirs, **found})
    print(f"{args.json}" + (f", {args.plot}" if args.plot else ""))
    return 0


def draw(args, picture):
    if args.plot:
        with open(args.plot, "w", encoding="utf-8") as stream:
            stream.write(picture)


# ---- pages

def cell(value):
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def table(heads, rows):
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, ["---"] * len(heads)] + [[cell(value) for value in row] for row in rows])


def section(folder, name, body, more=""):
    """A section of a page: heading, picture, command, machine, differences, and what body makes of the results. more: words after the heading."""
    found = common.load(os.path.join(results(folder), name + ".json"))
    machine = found["machine"]
    drawn = os.path.exists(os.path.join(results(folder), name + ".svg"))
    picture = f"\n\n![{found['what']}](../bench/results/{folder}/{name}.svg)" if drawn else ""
    words = (f"`{found['command']}`, seed {found['options']['seed']}, on {machine['processor']}, {machine['cores']} cores that also did other work; commit {machine['commit']}. "
             f"Differences: {found['differs']}")
    return f"## {found['what']}{more}{picture}\n\n{words}\n\n" + body(found)


def wrapped(text):
    """Text in lines of at most 100 characters; tables and headings stay."""
    return "\n\n".join(part if part.startswith(("|", "#", "![")) else textwrap.fill(part, 100, break_long_words=False, break_on_hyphens=False) for part in text.split("\n\n"))


def write(path, text):
    """Writes a page. With --check: says whether the page agrees with the results. Returns the exit status."""
    if "--check" not in sys.argv[1:]:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return 0
    with open(path, encoding="utf-8") as stream:
        return 0 if stream.read() == text else f"run {os.path.relpath(sys.argv[0], common.ROOT)}: it writes another {os.path.relpath(path, common.ROOT)}"
