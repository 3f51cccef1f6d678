#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Sley says that it has sent, beside what others have seen it send.

    counts.py SLEY [--runs N] [--seed S] [--transport tcp]
    counts.py SLEY --transport mpi --wrapper libcount_sends.so [--mpirun MPIRUN]
    counts.py SLEY --transport mpi --tiles --wrapper libcount_sends.so [--mpirun MPIRUN]
    counts.py SLEY --transport nccl --wrapper libcount_nccl.so      with a GPU for each of up to 4 ranks

Draws matrices, algorithms, numbers of ranks and workgroups. Over tcp the job runs below `strace`: its calls of
sendmsg and sendto, their bytes, and the messages with rows, whose headers are read from what was sent, must be
exactly those of the field "sockets" of the command's JSON, and in each product those of "messages" and
"volume_bytes". Over mpi libcount_sends.so (tests/mpi/count_sends.c) counts what is handed to MPI, over nccl
libcount_nccl.so (tests/gpu/count_nccl.c) what is handed to ncclSend. With --tiles the products are of
matrices in tiles: of two jobs whose numbers of products differ, MPI's gets and puts must differ by what is told of a
product, and by strace no tile may be on Sley's sockets. Prints a line for
each run that differs and how many are equal; ends with 1 if one differs, with 77 if nothing could be run.
--more N adds N messages to what was seen, so that a comparison can be seen to fail.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ALGORITHMS = ["bcast-1d", "bcast-1d-pipelined", "bcast-1.5d", "summa-2d", "rowwise", "halo", "halo-fused", "halo-coalesced",
              "halo-pipelined", "cover"]
DATA, REQUEST, ROWS, ANSWER, HEADER = 1, 4, 6, 4 << 56, 40
PUT, WORD = 2, 8
CALL = re.compile(r"(sendmsg|sendto|sendmmsg|writev)\(.*= (-?\d+)")
FIRST = re.compile(r'msg_iov=\[\{iov_base="((?:\\x[0-9a-f]{2})+)"[.]*, iov_len=(\d+)\}')


def draw(rng, transport, most):
    ranks = rng.randint(2, most)
    n = rng.randint(40, 3000)
    matrix = rng.choice([f"er:n={n},nnz={n * rng.randint(1, 12)},seed={rng.randint(1, 999)}",
                         f"rmat:scale={rng.randint(6, 11)},edgefactor={rng.randint(2, 8)},seed={rng.randint(1, 999)}"])
    words = ["--algo", rng.choice(ALGORITHMS), "--ranks", str(ranks), "--workgroup", str(rng.randint(1, ranks)),
             "--k", str(rng.choice([1, 4, 17, 32, 128])), "--dtype", rng.choice(["f32", "f64"]), "--threads", "1",
             "--warmup", str(rng.randint(0, 1)), "--repeat", str(rng.randint(1, 3)), "--timeout", "200",
             "--transport", transport, "--device", "cuda" if transport == "nccl" else "cpu"]
    return [matrix] + words


def draw_tiles(rng, most):
    ranks = rng.randint(2, most)
    rows = rng.randint(200, 3000)
    return [f"er:n={rows},nnz={rows * rng.randint(2, 12)},seed={rng.randint(1, 999)}", "--algo",
            rng.choice(["tile-c", "tile-a", "tile-b"]), "--ranks", str(ranks), "--workgroup",
            str(rng.choice([size for size in range(1, ranks) if ranks % size == 0])), "--tiles", str(rng.randint(2, 6)), "--k",
            str(rng.choice([4, 17, 64])), "--dtype", rng.choice(["f32", "f64"]), "--threads", "1", "--warmup", "0", "--timeout",
            "200", "--transport", "mpi", "--device", "cpu"]


def products(words):
    return int(words[words.index("--warmup") + 1]) + int(words[words.index("--repeat") + 1])


def seen_by_strace(folder):
    """Calls, bytes, and messages with rows, their bytes, requests for rows, and answers and puts longer than a word: of all threads
    of all ranks."""
    seen = dict(calls=0, bytes=0, messages=0, row_bytes=0, requests=0, tiles=0)
    for path in glob.glob(os.path.join(folder, "calls.*")):
        for line in open(path, errors="replace"):
            call = CALL.search(line)
            if not call or line.startswith("---"):
                continue
            seen["calls"] += 1
            seen["bytes"] += max(int(call.group(2)), 0)
            first = FIRST.search(line)
            if int(call.group(2)) <= 0 or not first or int(first.group(2)) != HEADER:
                continue
            head = bytes.fromhex(first.group(1).replace("\\x", ""))[:HEADER]
            kind, access, tag, length = (int.from_bytes(head[a:b], "little")
                                         for a, b in ((0, 4), (4, 6), (8, 16), (16, 24)))
            seen["requests"] += kind == REQUEST and access == ROWS
            seen["tiles"] += length > WORD and ((kind == DATA and tag == ANSWER) or (kind == REQUEST and access == PUT))
            if kind == DATA and length > 0 and (tag < 1 << 55 or tag == ANSWER):
                seen["messages"] += 1
                seen["row_bytes"] += length
    return seen


def compare_tcp(words, told, seen):
    wrong = []
    sockets = told["sockets"]
    pairs = [("calls", seen["calls"], sockets["sends"] + sockets["control_sends"]),
             ("bytes", seen["bytes"], sockets["row_bytes"] + sockets["header_bytes"] + sockets["control_bytes"]),
             ("messages with rows", seen["messages"], sockets["messages"]),
             ("bytes of rows", seen["row_bytes"], sockets["row_bytes"])]
    messages, volume, times = told["messages"], told["volume_bytes"], products(words)
    if told["algo"] == "rowwise":  # rows of the workgroup are read where they lie
        pairs.append(("requests of the products", seen["requests"], times * messages["message"]))
        pairs.append(("bytes of the products", seen["row_bytes"], times * volume["message"]))
    else:
        pairs.append(("messages of the products", seen["messages"], times * (messages["message"] + messages["direct"])))
        pairs.append(("bytes of the products", seen["row_bytes"], times * (volume["message"] + volume["direct"])))
    for name, outside, own in pairs:
        if outside != own:
            wrong.append(f"{name}: seen {outside}, told {own}")
    return wrong


def run_tcp(sley, words, more):
    with tempfile.TemporaryDirectory() as folder:
        line = ["strace", "-ff", "-qq", "-xx", "-s", "64", "-e", "trace=sendmsg,sendto,sendmmsg,writev", "-o",
                os.path.join(folder, "calls"), sley, "spmm", *words, "--json", os.path.join(folder, "told")]
        done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return [f"ended with {done.returncode}: {done.stderr[-400:]}"]
        seen = seen_by_strace(folder)
        seen["messages"] += more
        told = json.load(open(os.path.join(folder, "told")))
    return compare_tcp(words, told, seen) + judge(told)


def count_mpi(sley, words, mpirun, wrapper, more=0, strace=()):
    """A job under mpirun: why it has failed, or None; messages and bytes that were handed to MPI; the command's JSON."""
    ranks = words[words.index("--ranks") + 1]
    with tempfile.TemporaryDirectory() as folder:
        sums = os.path.join(folder, "sums")
        env = dict(os.environ, SLEY_COUNT_SENDS=sums, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   SLEY_COUNT_SENDS_MORE=str(more), LD_PRELOAD=wrapper)
        line = [mpirun, "-n", ranks, *strace, sley, "spmm", *words, "--json", os.path.join(folder, "told")]
        done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
        if done.returncode != 0:
            return f"ended with {done.returncode}: {done.stderr[-400:]}", None, None
        lines = [[int(word) for word in one.split()] for one in open(sums)]
        lines = [one for one in lines if len(one) == 2]
        return None, [sum(one[at] for one in lines) for at in (0, 1)], json.load(open(os.path.join(folder, "told")))


def run_tiles(sley, words, mpirun, wrapper, more):
    few, many = 1, 3
    why, before, _ = count_mpi(sley, words + ["--repeat", str(few)], mpirun, wrapper)
    if why:
        return [why]
    with tempfile.TemporaryDirectory() as folder:
        strace = ["strace", "-ff", "-qq", "-xx", "-s", "64", "-e", "trace=sendmsg,sendto,sendmmsg,writev", "-o",
                  os.path.join(folder, "calls")]
        why, after, told = count_mpi(sley, words + ["--repeat", str(many)], mpirun, wrapper, strace=strace)
        if why:
            return [why]
        seen = seen_by_strace(folder)
    told = told["algorithms"][0]
    messages, volume = ((many - few) * told[field]["message"] for field in ("messages", "volume_bytes"))
    seen_messages, seen_bytes = after[0] - before[0] + more, after[1] - before[1]
    wrong = []
    # Entries of the queues of products are single words, which are counted but go by requests.
    if told["algo"] == "tile-c" and seen_messages != messages:
        wrong.append(f"messages: seen {seen_messages}, told {messages}")
    if volume - seen_bytes != WORD * (messages - seen_messages):
        wrong.append(f"bytes: seen {seen_bytes} in {seen_messages}, told {volume} in {messages}")
    if seen["tiles"] or not seen["calls"]:
        wrong.append(f"{seen['tiles']} messages on Sley's sockets are longer than a word, of {seen['calls']} calls")
    return wrong if seen_messages > 0 else wrong + ["nothing was handed to MPI"]


def run_mpi(sley, words, mpirun, wrapper, more):
    why, sums, told = count_mpi(sley, words, mpirun, wrapper, more)
    if why:
        return [why]
    links = ["message"] if told["algo"] == "rowwise" else ["message", "direct"]
    times, wrong = products(words), []
    for name, at, field in (("messages", 0, "messages"), ("bytes", 1, "volume_bytes")):
        seen, own = sums[at], times * sum(told[field][link] for link in links)
        if seen != own:
            wrong.append(f"{name}: seen {seen}, told {own}")
    return wrong + judge(told)


def run_nccl(sley, words, wrapper, more):
    with tempfile.TemporaryDirectory() as folder:
        sums = os.path.join(folder, "sums")
        with open(sums, "wb") as file:
            file.write(bytes(16))
        env = dict(os.environ, SLEY_COUNT_SENDS=sums, LD_PRELOAD=wrapper)
        line = [sley, "spmm", *words, "--json", os.path.join(folder, "told")]
        done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
        if done.returncode != 0:
            return [f"ended with {done.returncode}: {done.stderr[-400:]}"]
        seen = [int.from_bytes(open(sums, "rb").read()[at:at + 8], "little") for at in (0, 8)]
        told = json.load(open(os.path.join(folder, "told")))
    seen[0] += more
    own = [products(words) * told[field]["message"] for field in ("messages", "volume_bytes")]
    wrong = [f"{name}: seen {a}, told {b}" for name, a, b in zip(("messages", "bytes"), seen, own) if a != b]
    if told["transport"] != "nccl":
        wrong.append(f"ran over {told['transport']}")
    return wrong + judge(told)


def judge(told):
    return [] if told["as_predicted"] else [f"not as predicted: {told['messages']}, {told['predicted_messages']}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sley")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--more", type=int, default=0)
    parser.add_argument("--transport", choices=["tcp", "mpi", "nccl"], default="tcp")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--wrapper")
    parser.add_argument("--tiles", action="store_true")
    parser.add_argument("--most", type=int, default=4, help="ranks at most")
    options = parser.parse_args()
    missing = not shutil.which("strace") if options.transport == "tcp" or options.tiles else False
    if options.transport != "tcp":
        missing = missing or not options.wrapper or (options.transport == "mpi" and not shutil.which(options.mpirun))
    if not missing and (options.transport == "tcp" or options.tiles):
        missing = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode != 0
    if missing:
        print("skipped: strace is not installed, or may not trace; or no MPI, or no wrapper")
        return 77
    equal = 0
    for run in range(options.runs):
        rng = random.Random(f"{options.seed} {run}")
        words = draw_tiles(rng, options.most) if options.tiles else draw(rng, options.transport, options.most)
        if options.tiles:
            wrong = run_tiles(options.sley, words, options.mpirun, options.wrapper, options.more)
        elif options.transport == "mpi":
            wrong = run_mpi(options.sley, words, options.mpirun, options.wrapper, options.more)
        elif options.transport == "nccl":
            wrong = run_nccl(options.sley, words, options.wrapper, options.more)
        else:
            wrong = run_tcp(options.sley, words, options.more)
        equal += not wrong
        if wrong:
            print(" ".join(words), "\n   ", "\n    ".join(wrong), flush=True)
    print(f"{options.transport}: told and seen are equal in {equal} of {options.runs} runs")
    return 0 if equal == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
