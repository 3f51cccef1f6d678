#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two workgroups of two GPUs joined by sockets: what each step from rowwise to cover brings. Starts four ranks of
`sley spmm` as a launcher would, two of each host that NCCL_HOSTID makes of this one, and writes a JSON line for each
matrix and algorithm: bytes over direct and message links, messages, and the median time. bench/gpu/run.sh calls it."""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile

STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover"]
RANKS = 4


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def prepare(args, matrix, folder):
    """The matrix as a file that every rank reads, made once: each would else generate it."""
    if os.path.exists(matrix):
        return matrix
    path = os.path.join(folder, matrix.replace(":", "-") + ".sley")
    if not os.path.exists(path):
        name = matrix if ":" in matrix else "twin:" + matrix
        subprocess.run([args.sley, "convert", name, path], check=True, stdout=subprocess.DEVNULL)
    return path


def run(args, name, algo):
    """The JSON object of rank 0's run of a file; raises RuntimeError with what was printed where a rank fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        words = [args.sley, "spmm", name, "--device", "cuda", "--transport", "nccl", "--algo", algo, "--k", str(args.k),
                 "--order", args.order, "--repeat", str(args.repeat), "--warmup", "2", "--timeout", str(args.limit)]
        port = free_port()
        ranks = []
        for rank in range(RANKS):
            env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(port), NCCL_HOSTID="ab"[rank // 2], NCCL_SOCKET_IFNAME="lo")
            ranks.append(subprocess.Popen(words + (["--json", path] if rank == 0 else []), env=env, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        try:
            texts = [r.communicate(timeout=args.limit)[0] for r in ranks]
        except subprocess.TimeoutExpired:
            for r in ranks:
                r.kill()
            raise RuntimeError(f"not done within {args.limit} s")
        if any(r.returncode for r in ranks):
            raise RuntimeError("\n".join(t.strip() for t in texts if t.strip()))
        with open(path) as stream:
            return json.load(stream)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sley", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--matrices", nargs="+", default=["cyt", "clj"])
    parser.add_argument("--algorithms", nargs="+", default=STEPS)
    parser.add_argument("--k", type=int, default=32)
    parser.add_argument("--order", default="none")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--cache", help="folder that keeps the matrices")
    parser.add_argument("--limit", type=int, default=120, help="seconds for one run")
    args = parser.parse_args()
    failed = 0
    with open(args.json, "w") as out, tempfile.TemporaryDirectory() as folder:
        for matrix in args.matrices:
            name = prepare(args, matrix, args.cache or folder)
            for algo in args.algorithms:
                try:
                    result = run(args, name, algo)
                except RuntimeError as error:
                    failed = 1
                    print(f"{matrix} {algo}: {error}", file=sys.stderr)
                    continue
                line = {"record": "ablation", "matrix": matrix, "k": args.k, "order": args.order, "algo": algo,
                        "transport": result["transport"], "direct_bytes": result["volume_bytes"]["direct"],
                        "message_bytes": result["volume_bytes"]["message"],
                        "messages": result["messages"]["message"], "ms": result["time_ms"]["median"],
                        "min_ms": result["time_ms"]["min"], "plan_ms": result["plan_ms"],
                        "ok": result["verify"]["ok"] if result["verify"] else None}
                out.write(json.dumps(line) + "\n")
                out.flush()
                print(f"{matrix:5} {algo:15} {line['ms']:10.3f} ms", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
