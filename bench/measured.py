# SPDX-License-Identifier: Apache-2.0
"""Determines whether a result is older than the code that it measures. code() returns a file of C, CUDA or Python without
comments, spaces, includes and the order of its definitions. changes() returns the definitions that differ between a commit and
the working tree."""
import ast
import collections
import fnmatch
import functools
import io
import os
import re
import subprocess
import tarfile

FOLDERS = ("src", "cli", "python/sley")
SUFFIXES = (".c", ".h", ".cu", ".cuh", ".c.in", ".cu.in", ".py")
WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
LEFT_OUT = re.compile(r'#\s*(include\b|endif|pragma once|(ifndef|define)\s+\w+_C?U?H$)')  # lines that change when files move
SCOPE = re.compile(r'(inline )?(namespace\b.*|extern ?"C" ?){$')
NAME = re.compile(r'^(?:@.*\n)*(?:def|class) (\w+)|(\w+)\s*(?:\(|\[[^\]]*\]=|=)|(?:struct|enum|union) (\w+)|\}(\w+);$')


def squeezed(text):
    return re.sub(r"\s*(\W)\s*", r"\1", re.sub(r"\s+", " ", text.strip()))


def c_code(text):
    """The definitions of a file of C or CUDA, each as one line."""
    text = WORDS.sub(lambda m: " " if m[0][0] == "/" else m[0], text).replace("\\\n", " ")
    out, open_now, depth = [], "", 0
    for line in text.splitlines():
        line = squeezed(line)
        if not line or LEFT_OUT.match(line) or (not open_now and SCOPE.match(line)):
            continue
        if line.startswith("#") and not open_now:
            out.append(line)
            continue
        open_now += (" " if open_now else "") + line
        depth += line.count("{") - line.count("}")
        if depth <= 0 and line[-1] in ";}":
            if open_now.strip("};"):  # not the end of a namespace
                out.append(squeezed(open_now))  # line breaks are not a difference
            open_now, depth = "", 0
    return out + ([open_now] if open_now else [])


def python_code(text):
    """The statements of a module, without its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return [ast.unparse(node) for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]


@functools.lru_cache(maxsize=None)
def code(text, python):
    return tuple(python_code(text) if python else c_code(text))


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout


def known(root, commit):
    """Returns whether root is a repository that contains the commit."""
    try:
        git(root, "cat-file", "-e", f"{commit}^{{commit}}")
    except (OSError, subprocess.CalledProcessError):
        return False
    return os.path.exists(os.path.join(root, ".git"))


def whole(root):
    """Returns whether the repository has its whole history, from the first commit on."""
    return known(root, "HEAD") and git(root, "rev-parse", "--is-shallow-repository").strip() == b"false"


@functools.lru_cache(maxsize=None)
def files_at(root, commit):
    """{path: text} of a commit."""
    there = [each for each in FOLDERS if git(root, "ls-tree", commit, each)]
    with tarfile.open(fileobj=io.BytesIO(git(root, "archive", commit, "--", *there))) as tar:
        return {one.name: tar.extractfile(one).read().decode() for one in tar if one.isfile() and one.name.endswith(SUFFIXES)}


@functools.lru_cache(maxsize=None)
def files_now(root):
    """{path: text} of the working tree."""
    found = {}
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(SUFFIXES):
                    path = os.path.join(place, name)
                    with open(path, encoding="utf-8") as stream:
                        found[os.path.relpath(path, root)] = stream.read()
    return found


def matches(path, patterns):
    """Selects names by patterns of fnmatch; patterns after ! exclude from those before."""
    found = False
    for pattern in patterns:
        if fnmatch.fnmatch(path, pattern.removeprefix("!")):
            found = not pattern.startswith("!")
    return found


def definitions(files, patterns):
    bag = collections.Counter()
    for path, text in files.items():
        if matches(path, patterns):
            bag.update(code(text, path.endswith(".py")))
    return bag


def name_of(definition):
    found = NAME.search(definition)
    return next(filter(None, found.groups()), definition[:30]) if found else definition[:30]


def changes(root, commit, patterns):
    """Names of the definitions that files of these patterns had at the commit and no longer have. Additions alone have no effect:
    their callers have changed too."""
    then, now = (definitions(files, patterns) for files in (files_at(root, commit), files_now(root)))
    if not then or not now:
        raise SystemExit(f"no file of {' '.join(patterns)} at {commit if now else 'the working tree'}: the table of claims is wrong")
    return sorted({name_of(each) for each in then - now})
