#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutated inputs of every format, with NaN and infinities among their values, against readers written here.

Usage: mutated_inputs.py SLEY [COUNT [SEED [KINDS]]]

Each input is a good file of one format in which bytes, tokens or lines were changed, or an array inside an archive.
`sley convert` reads it; what it accepts is read back and compared with what a reader of this file makes of the same
bytes, by the rules of docs/FORMATS.md. A part of what is accepted is also multiplied, on ranks that are threads and on
ranks that are processes, and a mutated X likewise. States, labels and splits of `sley gnn` and machine descriptions are mutated too, and accepted or refused. Nothing may end by a signal or take long, nothing wrong may be
accepted, and what is refused has exit status 2 and one line that names the file and, in a text, the line.
"""
import gzip, io, math, os, random, re, shutil, struct, subprocess, sys, tempfile, zipfile, zlib
from fractions import Fraction

SLEY, COUNT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300, int(sys.argv[3]) if len(sys.argv) > 3 else 1
rng = random.Random(SEED)
TOKENS = ["nan", "inf", "-inf", "NaN", "Infinity", "1e999", "-1e999", "1e-400", "0", "1", "-1", "2", "13", "99999999999999",
          "99999999999999999999", "", "x", "1.5", "0x10", "1e", "+3", "-0", "1 2", "1,2", ".", "\n", "%", "#", "1e308", "\r"]


class Refused(Exception):
    """The bytes break the format's rules."""


class Unjudged(Exception):
    """The readers here do not say what the bytes mean: another format, or a rule that is not written here."""


# ---- the good files: entries are (row, column) -> value

def number(extreme=True):
    pick = rng.random()
    if extreme and pick < 0.05:
        return math.nan
    if extreme and pick < 0.1:
        return rng.choice([math.inf, -math.inf])
    return rng.choice([rng.randint(-9, 9) or 1, rng.uniform(-2, 2), rng.uniform(-1, 1) * 1e300])


def text_of(value):
    return "nan" if math.isnan(value) else "inf" if value == math.inf else "-inf" if value == -math.inf else repr(value)


def entries(rows, cols, count):
    return {(rng.randrange(rows), rng.randrange(cols)): number() for _ in range(count)}


def make_mtx():
    rows, cols = rng.randint(1, 12), rng.randint(1, 12)
    symmetry = rng.choice(["general", "general", "symmetric", "skew-symmetric"])
    if symmetry != "general":
        cols = rows
    found = entries(rows, cols, rng.randint(0, 25))
    if symmetry != "general":
        found = {(max(i, j), min(i, j)): v for (i, j), v in found.items() if i != j or symmetry == "symmetric"}
    field = rng.choice(["real", "real", "integer", "pattern"]) if symmetry != "skew-symmetric" else "real"
    lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", "% a comment", f"{rows} {cols} {len(found)}"]
    for (i, j), v in found.items():
        value = "" if field == "pattern" else f" {rng.randint(-9, 9)}" if field == "integer" else " " + text_of(v)
        lines.append(f"{i + 1} {j + 1}{value}")
    return ("\n".join(lines) + "\n").encode()


def make_el():
    n = rng.randint(2, 12)
    gap = rng.choice([" ", "\t", ",", ";"])
    weighted = rng.random() < 0.7
    lines = ["# a comment"] if rng.random() < 0.5 else []
    for (i, j), v in entries(n, n, rng.randint(3, 25)).items():
        lines.append(gap.join([str(i + 1), str(j + 1)] + ([text_of(v)] if weighted else [])))
    return ("\n".join(lines) + "\n").encode()


def make_graph():
    n = rng.randint(2, 12)
    edges = {(min(e), max(e)): rng.randint(1, 9) for e in ((rng.randrange(n), rng.randrange(n)) for _ in range(20)) if e[0] != e[1]}
    weighted = rng.random() < 0.5
    lines = [f"{n} {len(edges)}" + (" 1" if weighted else "")]
    for v in range(n):
        here = [((a, b), w) for (a, b), w in edges.items() if v in (a, b)]
        lines.append(" ".join(f"{(b if a == v else a) + 1}" + (f" {w}" if weighted else "") for (a, b), w in here))
    return ("\n".join(lines) + "\n").encode()


def npy(kind, shape, data, junk=b""):
    header = str({"descr": kind, "fortran_order": False, "shape": shape}).encode() + junk
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def csr():
    rows, cols = rng.randint(1, 9), rng.randint(1, 9)
    pointers, columns, values = [0], [], []
    for _ in range(rows):
        row = sorted(rng.randrange(cols) for _ in range(rng.randint(0, 4)))
        columns += row
        values += [number() for _ in row]
        pointers.append(len(columns))
    return rows, cols, pointers, columns, values


def make_npz(mutated=None):
    rows, cols, pointers, columns, values = csr()
    wide = rng.random() < 0.5
    members = {"format": npy("|S3", (), b"csr"), "shape": npy("<i8", (2,), struct.pack("<2q", rows, cols)),
               "data": npy("<f8", (len(values),), struct.pack(f"<{len(values)}d", *values)),
               "indices": npy("<i8" if wide else "<i4", (len(columns),), struct.pack(f"<{len(columns)}{'q' if wide else 'i'}", *columns)),
               "indptr": npy("<i4", (rows + 1,), struct.pack(f"<{rows + 1}i", *pointers))}
    if mutated:
        name = rng.choice(list(members))
        members[name] = mutated(members[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name + ".npy", content)
    return out.getvalue()


def by_sley(source, ending):
    """What the command writes of a good file."""
    path, target = os.path.join(FOLDER, "good.mtx"), os.path.join(FOLDER, "good" + ending)
    with open(path, "wb") as file:
        file.write(source)
    done = subprocess.run([SLEY, "convert", path, target], capture_output=True)
    assert done.returncode == 0, done.stderr
    with open(target, "rb") as file:
        return file.read()


# ---- the readers: rows, columns and entries of bytes, or an exception

REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([ed][+-]?\d+)?$|[+-]?(nan|inf|infinity)$", re.I)


def real(word, field="real"):
    """A value of a Matrix Market field, or of a text that states none."""
    if not REAL.match(word):
        raise Refused(f"{word!r} is no number")
    if "n" in word.lower():
        return float(word)
    word = re.sub("[dD]", "e", word)
    whole = re.match(r"[+-]?\d+$", word) if field == "untyped" else "integer" in field
    if math.isinf(float(word)):
        raise Refused(f"{word} is beyond the range")
    if whole and (Fraction(word).denominator != 1 or abs(Fraction(word)) > 2 ** 53):
        raise Refused(f"{word} is no whole number that f64 holds")
    if field == "unsigned-integer" and float(word) < 0:
        raise Refused(f"{word} is negative")
    return float(word)


def whole_values(kind, values):
    if kind in "iu" and any(abs(v) > 2 ** 53 for v in values):
        raise Refused("an integer beyond 2^53")
    return values


def add(found, place, value):
    found[place] = found[place] + value if place in found else value


def words(line):
    return [w for w in re.split(r"[ \t\r]+", line) if w]


def lines_of(content):
    if b"\0" in content or any(c > 126 or (c < 32 and c not in b"\n\t\r") for c in content):
        raise Unjudged("not a text")
    return content.decode().split("\n")


def read_mtx(content):
    lines = lines_of(content)
    first = [w.lower() for w in words(lines[0])]
    if not first or first[0] != "%%matrixmarket":
        raise Unjudged("another format")
    if len(first) != 5 or first[1:3] != ["matrix", "coordinate"]:
        if first[1:3] == ["matrix", "array"]:
            raise Unjudged("an array")
        raise Refused("the banner")
    if first[3] not in ("real", "double", "integer", "unsigned-integer", "pattern") or first[4] not in ("general", "symmetric", "skew-symmetric", "hermitian"):
        raise Refused("the banner's field or symmetry")
    data = [words(l) for l in lines[1:] if words(l) and not words(l)[0].startswith("%")]
    if len(lines) > 1 and lines[1].startswith("%") and len(data[:1]) == 1 and len(data[0]) == 2:
        raise Unjudged("an edge list with a banner")
    if not data or len(data[0]) != 3 or not all(re.match(r"[+-]?\d+$", w) for w in data[0]):
        raise Refused("the sizes")
    rows, cols, count = map(int, data[0])
    if min(rows, cols, count) < 0 or rows > 2 ** 28 or cols >= 2 ** 63 or (first[4] != "general" and rows != cols) or count != len(data) - 1:
        raise Refused("the sizes")
    if first[3] == "pattern" and first[4] == "skew-symmetric":
        raise Refused("a skew pattern")
    given, mirrored = [], []
    for line in data[1:]:
        if len(line) != (2 if first[3] == "pattern" else 3) or not all(re.match(r"\d{1,18}$", w) for w in line[:2]):
            raise Refused("an entry")
        i, j = int(line[0]) - 1, int(line[1]) - 1
        value = 1.0 if first[3] == "pattern" else real(line[2], first[3])
        if not (0 <= i < rows and 0 <= j < cols) or (first[4] == "skew-symmetric" and i == j and value != 0):
            raise Refused("an entry's place")
        given.append(((i, j), value))
        if first[4] != "general" and i != j:
            mirrored.append(((j, i), -value if first[4] == "skew-symmetric" else value))
    if {place for place, _ in given} & {place for place, _ in mirrored}:
        raise Refused("both triangles")
    found = {}
    for place, value in given + mirrored:
        add(found, place, value)
    return rows, cols, found


def read_el(content):
    lines = lines_of(content)
    data = []
    for line in lines:
        line = re.split("[#%]", line)[0].strip(" \t\r")
        if line:
            data.append([w for w in re.split(r"[ \t\r]*[,;][ \t\r]*|[ \t\r]+", line)])
    if b"\r" in content.replace(b"\r\n", b"") and b"\n" in content or not data or content.startswith(b"%") or all(len(l) == 1 for l in data) or re.match("[A-Za-z_\"]", data[0][0]):
        raise Unjudged("a head, a column, or nothing")
    plain = all(re.match(r"\d+$", w) for w in data[0])
    if plain and len(data[0]) in (2, 3, 4) and not re.search(rb"[,;]", content.split(b"\n")[0]):
        sizes = list(map(int, data[0]))
        if len(data) - 1 <= sizes[0] <= len(lines) or (len(sizes) == 3 and sizes[2] in (len(data) - 1, len(lines) - 1)):
            raise Unjudged("sizes may stand in the first line")
    found, least, most = [], None, -1
    for line in data:
        if len(line) < 2 or not all(re.match(r"[+-]?\d+$", w) for w in line[:2]):
            raise Refused("a line")
        i, j = int(line[0]), int(line[1])
        if min(i, j) < 0 or max(i, j) >= 2 ** 63 - 1:
            raise Refused("a number")
        if len(line) > 2 and line[2] == "":
            raise Unjudged("an empty value")
        value = real(line[2], "untyped") if len(line) > 2 else 1.0
        if len(line) > 3:
            raise Unjudged("fields after the value, or a decimal comma")
        least = min(i, j) if least is None else min(least, i, j)
        most = max(most, i, j)
        found.append((i, j, value))
    base = 1 if least == 1 else 0
    size = most + 1 - base
    if size > 2 ** 28:
        raise Refused("too large")
    matrix = {}
    for i, j, value in found:
        add(matrix, (i - base, j - base), value)
    return size, size, matrix


def read_graph(content):
    lines = [l for l in lines_of(content) if not l.lstrip(" \t\r").startswith("%")]
    while lines and not words(lines[0]):
        lines.pop(0)
    head = words(lines[0]) if lines else []
    if not 2 <= len(head) <= 3 or not all(re.match(r"\d+$", w) for w in head) or (len(head) == 3 and head[2] not in ("0", "1", "000", "001")):
        raise Unjudged("another head")
    n, m, weighted = int(head[0]), int(head[1]), len(head) == 3 and int(head[2]) == 1
    rest = lines[1:]
    if rest and not words(rest[-1]):
        rest.pop()
    if n > len(content) or len(rest) < n - 1 or any(words(l) for l in rest[n:]):
        raise Refused("the lines")
    if len(rest) != n:
        raise Unjudged("blank lines at the end")
    found, count = {}, 0
    for v, line in enumerate(rest):
        line = words(line)
        if weighted and len(line) % 2:
            raise Refused("a weight is missing")
        step = 2 if weighted else 1
        for k in range(0, len(line), step):
            if not re.match(r"[+-]?\d+$", line[k]) or not 1 <= int(line[k]) <= n:
                raise Refused("a neighbour")
            add(found, (v, int(line[k]) - 1), real(line[k + 1], "untyped") if weighted else 1.0)
            count += 1
    if count != 2 * m:
        raise Refused("the edges")
    if any((j, i) not in found or not same(found[(j, i)], v) for (i, j), v in found.items()):
        raise Refused("not symmetric")
    return n, n, found


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or (math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 1e-12 * max(abs(a), abs(b)))


def read_npy(content):
    """kind, shape and bytes."""
    if content[:8] not in (b"\x93NUMPY\x01\x00",) or len(content) < 10:
        raise Unjudged("another version")
    length = struct.unpack("<H", content[8:10])[0]
    if len(content) < 10 + length:
        raise Refused("cut within the head")
    try:
        text = content[10:10 + length].decode("latin1")
        literal = re.match(r"\s*\{\s*'descr':\s*'([^']*)',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([0-9, ]*)\),?\s*\}[ \n\t]*$", text)
        shape = tuple(int(n) for n in literal.group(3).split(",") if n.strip())
    except (AttributeError, ValueError):
        raise Unjudged("a head that is written otherwise")
    data = content[10 + length:]
    kind = literal.group(1)
    size = {"f": (2, 4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}
    if not re.match(r"[<>|=][fiu][1248]$", kind) or int(kind[2]) not in size[kind[1]] or literal.group(2) == "True":
        raise Unjudged("another type or order")
    if math.prod(shape) * int(kind[2]) != len(data):
        raise Refused("the length")
    order = kind[0] if kind[0] in "<>" else "<"
    letter = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}[kind[1:]]
    return kind[1], shape, struct.unpack(f"{order}{math.prod(shape)}{letter}", data)


def read_npz(content):
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            arrays = {name[:-4]: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
    except Exception:
        raise Unjudged("no archive for zipfile")
    if sorted(arrays) != ["data", "format", "indices", "indptr", "shape"] or arrays["format"] != npy("|S3", (), b"csr"):
        raise Unjudged("other arrays")
    arrays = {name: read_npy(arrays[name]) for name in ("data", "indices", "indptr", "shape")}
    if any(len(a[1]) != 1 for a in arrays.values()) or any(arrays[n][0] == "f" for n in ("indices", "indptr", "shape")):
        raise Refused("no vectors of whole numbers")
    shape, pointers, columns, values = (arrays[n][2] for n in ("shape", "indptr", "indices", "data"))
    if len(shape) != 2 or min(shape) < 0:
        raise Refused("the shape")
    if len(columns) != len(values):
        raise Refused("as many indices as values")
    return from_csr(shape[0], shape[1], pointers, columns, whole_values(arrays["data"][0], values))


def from_csr(rows, cols, pointers, columns, values, sorted_only=False):
    if len(pointers) != rows + 1 or pointers[0] != 0 or any(a > b for a, b in zip(pointers, pointers[1:])):
        raise Refused("the pointers")
    if pointers[-1] > min(len(columns), len(values)):
        raise Refused("too few entries")
    found = {}
    for i in range(rows):
        row = columns[pointers[i]:pointers[i + 1]]
        if any(not 0 <= c < cols for c in row) or (sorted_only and list(row) != sorted(row)):
            raise Refused("a column")
        for e in range(pointers[i], pointers[i + 1]):
            add(found, (i, columns[e]), float(values[e]))
    return rows, cols, found


def read_sley(content):
    if content[:8] != b"\x89SLEY\r\n\x1a":
        raise Unjudged("another format")
    if content[:128] != GOOD[:128]:
        raise Refused("the header")
    rows, cols, nnz = struct.unpack("<3q", content[24:48])
    wide = struct.unpack("<I", content[20:24])[0]
    at = 128 + 8 * (rows + 1)
    col = (at + 63) // 64 * 64
    end = col + nnz * (8 if wide else 4)
    val = (end + 63) // 64 * 64
    if len(content) != val + 8 * nnz:
        raise Refused("the length")
    pointers = struct.unpack(f"<{rows + 1}q", content[128:at])
    if pointers[-1] != nnz:
        raise Refused("the pointers")
    columns = struct.unpack(f"<{nnz}{'q' if wide else 'i'}", content[col:end])
    return from_csr(rows, cols, pointers, columns, struct.unpack(f"<{nnz}d", content[val:]), True)


def read_gz(content):
    if content[:2] != b"\x1f\x8b":
        raise Unjudged("another format")
    out, rest = b"", content
    try:
        while rest.rstrip(b"\0"):
            member = zlib.decompressobj(31)
            out += member.decompress(rest)
            if not member.eof:
                raise Refused("cut")
            rest = member.unused_data
    except zlib.error as error:
        raise Refused(str(error))
    return read_mtx(out)


def read_as_before(content):
    if content[:4] != GOOD[:4]:
        raise Unjudged("another format")
    if SAME_OR_REFUSED is None:
        raise Unjudged("the good file is not known")
    return SAME_OR_REFUSED


# ---- mutations

def mutate_bytes(content):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        if not content:
            break
        at, what = rng.randrange(len(content)), rng.randrange(6)
        if what == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            content[at] = rng.randrange(256)
        elif what == 2:
            del content[at:at + rng.randint(1, 8)]
        elif what == 3:
            content[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif what == 4:
            del content[at:]
        else:
            to = rng.randrange(len(content))
            content[at:at] = content[to:to + rng.randint(1, 64)]
    return bytes(content)


def mutate_text(content):
    if rng.random() < 0.3:
        return mutate_bytes(content)
    parts = re.split(rb"([ \t\n,;]+)", content)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(parts))
        what = rng.randrange(5)
        if what < 3:
            parts[at] = rng.choice(TOKENS).encode() if at % 2 == 0 else rng.choice([b" ", b"\n", b"  ", b",", b"\t", b"\r\n"])
        elif what == 3:
            parts[at] = parts[rng.randrange(len(parts))]
        else:
            del parts[at]
            if not parts:
                return b""
    return b"".join(parts)


def mutate_doubles(content):
    """Values in place, so that NaN and infinities come to stand in binary formats."""
    if rng.random() < 0.5 or len(content) < 16:
        return mutate_bytes(content)
    at = rng.randrange(0, len(content) // 8) * 8
    value = struct.pack("<d", rng.choice([math.nan, math.inf, -math.inf, -0.0, 1e308, 5e-324]))
    return content[:at] + value + content[at + 8:]


# ---- the command

problems, accepted, refused, judged, multiplied, not_finite = [], 0, 0, 0, 0, 0


def call(*argv):
    try:
        done = subprocess.run([SLEY, *argv], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout.decode("latin1"), done.stderr.decode("latin1")
    except subprocess.TimeoutExpired:
        return "no end", "", ""


def problem(path, content, what):
    problems.append(what)
    kept = os.path.join(KEPT, f"{len(problems)}-{os.path.basename(path)}")
    os.makedirs(KEPT, exist_ok=True)
    with open(kept, "wb") as file:
        file.write(content)
    print(f"FAILED: {what}; kept as {kept}", flush=True)


def check_refusal(path, content, code, err, texts):
    lines = err.strip().split("\n")
    place = path + ":" if not texts else path
    if code != 2 or len(lines) != 1 or place not in lines[0]:
        problem(path, content, f"{path}: exit {code}, '{err.strip()}'")
    elif texts and not re.search(re.escape(path) + r":\d+: ", lines[0]) and not re.search("gzip|zstd|unpack|NumPy|zip|cache|memory|limit", lines[0]):
        problem(path, content, f"{path}: no line in '{lines[0]}'")


def check_matrix(path, content, reader, texts, container):
    global accepted, refused, judged, multiplied, not_finite
    out = os.path.join(FOLDER, "out.mtx")
    code, _, err = call("convert", path, out)
    wanted = why = None
    try:
        wanted = reader(content)
    except Refused as reason:
        why = f"refused here: {reason}"
    except Unjudged:
        why = "unjudged"
    if code != 0:
        refused += 1
        check_refusal(path, content, code, err, texts)
        if wanted is not None and not container:  # a damaged container may be refused whatever else reads it
            problem(path, content, f"{path}: refused, '{err.strip()}', but good")
        return
    accepted += 1
    if why and why != "unjudged":
        problem(path, content, f"{path}: accepted, but {why}")
    if wanted is not None:
        judged += 1
        with open(out, "rb") as file:
            got = read_mtx(file.read())
        equal = got[:2] == wanted[:2] and got[2].keys() == wanted[2].keys() and all(same(v, got[2][p]) for p, v in wanted[2].items())
        if not equal:
            problem(path, content, f"{path}: read as {got}, but it is {wanted}")
    if rng.random() < 0.25 and (wanted is None or wanted[0] < 1000):
        dtype = rng.choice(["f32", "f64"])
        words = ["spmm", path, "-k", "2", "--ranks", "2", "--repeat", "1", "--warmup", "0", "--dtype", dtype]
        code, text, err = call(*words, *(["--transport", "tcp"] if rng.random() < 0.5 else []))
        multiplied += 1
        not_finite += "not finite" in text
        if code == 2 and re.search("cannot allocate|out of memory", err):
            return  # as many columns as the file says, but no X has so many rows
        if code == 2 and dtype == "f32" and "beyond the range of f32" in err and (
                wanted is None or any(3.4e38 < abs(v) < math.inf for v in wanted[2].values())):
            return
        if code != 0 or "check      ok" not in text:
            problem(path, content, f"{path}: the product ends with {code}: {err.strip()}")


def check_x(content, mutated, path):
    """X as a mutated .npy: Y is I X."""
    global accepted, refused, judged
    out = os.path.join(FOLDER, "y.npy")
    code, text, err = call("spmm", DIAGONAL, "--x", path, "--out", out, "--ranks", "2", "--dtype", "f64")
    wanted = why = None
    try:
        kind, shape, wanted = read_npy(mutated)
        whole_values(kind, wanted)
        if len(shape) not in (1, 2) or shape[0] != 6:
            raise Refused("the shape")
    except Refused as reason:
        why, wanted = f"refused here: {reason}", None
    except Unjudged:
        why = "unjudged"
    if code != 0:
        refused += 1
        check_refusal(path, mutated, code, err, False)
        if wanted is not None:
            problem(path, mutated, f"{path}: refused, '{err.strip()}', but good")
        return
    accepted += 1
    if why and why != "unjudged":
        problem(path, mutated, f"{path}: accepted, but {why}")
    if wanted is not None:
        judged += 1
        with open(out, "rb") as file:
            _, got_shape, got = read_npy(file.read())
        if got_shape != shape or not all(same(float(a), b) for a, b in zip(wanted, got)):
            problem(path, mutated, f"{path}: Y is {got_shape} {got}, but X is {shape} {wanted}")


# ---- what sley gnn and machine descriptions are made of: accepted, or refused in one line

GNN_ROWS = 12
MACHINE_TEXT = """# figures of no machine
name a machine
device cpu
nodes 0
ranks-per-node 0
threads 0
cores 2
overlap messages
meeting 1e-6
pack-bandwidth 5e9
stream-bandwidth 8e9
spmm-bandwidth 9e9
node-bandwidth 5e9
link self 0 2e9
message self 64 4e-9
message self 1024 2e-7
link direct 1e-7 1e10
fetch direct 16 3e-6
link message 1e-6 1e7
message message 64 1e-5
message message 4096 7e-4
"""


def run_gnn(path, content, *argv):
    """A command that reads a mutated file: done, a training that diverged, or a refusal. No signal, no hang."""
    global accepted, refused
    code, text, err = call(*argv)
    lines = err.strip().split("\n")
    if code == 0:
        accepted += 1
        if re.search(r"\bnan\b", text):
            problem(path, content, f"{path}: accepted, with a result that is no number: {text.strip()}")
    elif code == 2 and len(lines) == 1 and lines[0]:
        refused += 1
    else:
        problem(path, content, f"{path}: exit {code}, '{err.strip()}'")


def gnn_words(**changed):
    words = {"--features": "random:3", "--labels": GNN_LABELS, "--split": GNN_SPLIT, "--device": "cpu", "--threads": "1"}
    words.update(changed)
    return ["er:n=12,nnz=30", *[word for pair in words.items() for word in pair]]


def check_gnn(kind, path):
    if kind == "gnn-state":
        with open(GNN_STATE, "rb") as file:
            state = file.read()
        content = mutate_bytes(state) if rng.random() < 0.4 else mutate_state(state)
    elif kind == "gnn-labels":
        content = mutate_text(open(GNN_LABELS, "rb").read()) if rng.random() < 0.7 else mutate_bytes(open(GNN_LABELS, "rb").read())
    elif kind == "gnn-split":
        content = mutate_text(open(GNN_SPLIT, "rb").read())
    else:
        content = mutate_text(open(MACHINE, "rb").read())
    with open(path, "wb") as file:
        file.write(content)
    if kind == "gnn-state":
        words = gnn_words()
        if rng.random() < 0.5:
            run_gnn(path, content, "gnn", "infer", *words[:words.index("--split")], *words[words.index("--split") + 2:], "--weights", path)
        else:
            run_gnn(path, content, "gnn", "train", *words, "--hidden", "3", "--epochs", "4", "--out", path, "--resume")
    elif kind == "gnn-labels":
        words = gnn_words(**{"--labels": path})
        del words[words.index("--split"):words.index("--split") + 2]
        run_gnn(path, content, "gnn", "train", *words, "--hidden", "3", "--epochs", "1", "--train", "2", "--valid", "1")
    elif kind == "gnn-split":
        run_gnn(path, content, "gnn", "train", *gnn_words(**{"--split": path}), "--hidden", "3", "--epochs", "1")
    else:
        run_gnn(path, content, "plan", DIAGONAL, "--ranks", "2", "--machine", path)


def mutate_state(state):
    """One array inside, whose checksum stays right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(state)) as source, zipfile.ZipFile(out, "w") as target:
        names = source.namelist()
        chosen, what = rng.choice(names), rng.random()
        for name in names:
            content = source.read(name)
            if name == chosen and what < 0.1:
                continue
            if name == chosen:
                content = mutate_doubles(content) if what < 0.5 else mutate_whole(content)
            target.writestr(name, content)
    return out.getvalue()


def mutate_whole(content):
    """A number in place, behind the head of the array."""
    head = 10 + struct.unpack("<H", content[8:10])[0]
    places = (len(content) - head) // 8
    if places < 1:
        return mutate_bytes(content)
    at = head + 8 * rng.randrange(places)
    value = rng.choice([0, 1, -1, 2, 3, 7, 63, 65, 1000, 2 ** 31 - 1, 2 ** 31, 2 ** 62, -2 ** 63, rng.getrandbits(63)])
    return content[:at] + struct.pack("<q", value) + content[at + 8:]


def make_gnn():
    with open(GNN_LABELS, "w") as file:
        file.write("".join(f"{i % 3}\n" for i in range(GNN_ROWS)))
    with open(GNN_SPLIT, "w") as file:
        file.write("".join(f"{('train', 'valid', 'test')[i // 4]}\n" for i in range(GNN_ROWS)))
    code, _, err = call("gnn", "train", *gnn_words(), "--hidden", "3", "--epochs", "3", "--out", GNN_STATE)
    assert code == 0, err
    with open(MACHINE, "w") as file:
        file.write(MACHINE_TEXT)


FOLDER = tempfile.mkdtemp(prefix="sley-mutated-")
KEPT = os.path.join(tempfile.gettempdir(), "sley-mutated-kept")
DIAGONAL = os.path.join(FOLDER, "unit.mtx")
with open(DIAGONAL, "w") as unit:
    unit.write("%%MatrixMarket matrix coordinate real general\n6 6 6\n" + "".join(f"{i} {i} 1\n" for i in range(1, 7)))
GNN_LABELS, GNN_SPLIT, GNN_STATE, MACHINE = (os.path.join(FOLDER, name) for name in ("labels.txt", "split.txt", "state.npz", "good.machine"))
OTHERS = {"gnn-state": "npz", "gnn-labels": "txt", "gnn-split": "txt", "machine": "machine"}
KINDS = ["mtx", "mtx", "el", "el", "graph", "npz", "npz-inside", "sley", "rb", "mtx.gz", "mtx.zst", "npy", *OTHERS]
if len(sys.argv) > 4:  # kinds, with commas between
    KINDS = [kind for kind in KINDS if kind in sys.argv[4].split(",")]
GOOD, SAME_OR_REFUSED = b"", None

make_gnn()
for case in range(COUNT):
    kind = KINDS[case % len(KINDS)]
    if kind in OTHERS:
        check_gnn(kind, os.path.join(FOLDER, "m." + OTHERS[kind]))
        continue
    path = os.path.join(FOLDER, "m." + kind.replace("-inside", ""))
    reader, texts = read_as_before, False
    if kind == "mtx":
        GOOD, reader, texts = make_mtx(), read_mtx, True
        content = mutate_text(GOOD)
    elif kind == "el":
        GOOD, reader, texts = make_el(), read_el, True
        content = mutate_text(GOOD)
    elif kind == "graph":
        GOOD, reader, texts = make_graph(), read_graph, True
        content = mutate_text(GOOD)
    elif kind == "npz":
        GOOD, reader = make_npz(), read_npz
        content = mutate_bytes(GOOD)
    elif kind == "npz-inside":
        GOOD, reader = make_npz(), read_npz
        content = make_npz(mutate_doubles)
    elif kind == "npy":
        values = [number() for _ in range(12)]
        GOOD = npy("<f8", rng.choice([(6, 2), (12,), (6,)]), struct.pack("<12d", *values))
        content = mutate_doubles(GOOD)
    else:
        source = make_mtx()
        GOOD = by_sley(source, "." + kind)
        reader = {"sley": read_sley, "mtx.gz": read_gz}.get(kind, read_as_before)
        texts = kind == "rb"
        content = mutate_doubles(GOOD) if kind == "sley" else mutate_text(GOOD) if kind == "rb" else mutate_bytes(GOOD)
        SAME_OR_REFUSED = read_mtx(source) if kind == "mtx.zst" else None
    with open(path, "wb") as file:
        file.write(content)
    if kind == "npy":
        check_x(GOOD, content, path)
    else:
        check_matrix(path, content, reader, texts, kind in ("npz", "mtx.gz", "mtx.zst") or reader is read_as_before)

shutil.rmtree(FOLDER)
print(f"{COUNT} mutated inputs: {accepted} accepted, {judged} of them compared, {multiplied} multiplied ({not_finite} with results that are "
      f"not finite), {refused} refused; {len(problems)} problems")
sys.exit(1 if problems or accepted == 0 or refused == 0 or (judged == 0 and any(kind not in OTHERS for kind in KINDS)) else 0)
