#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank of a job on this host is killed or stopped at a random moment: the others must end in time and say why.

  kills.py SLEY [--command spmm|tiles|collective] [--mpirun MPIRUN] [--first I] [--count N] [--seed S] [--jobs J] [--spare S]

Each case starts three ranks, as a launcher does over TCP or, with --mpirun, over MPI, or as the command forks them, and
sends one of them SIGKILL or SIGSTOP, while they meet, multiply (also in tiles) or run collectives (--command: these alone). Every survivor
must end within --timeout and --spare seconds (default 2) of the signal. Over TCP each names the rank, and says that its
process ended or is stopped; so does the command that has forked the ranks, with exit status 1. Over MPI the first to end
does so for a rank that is stopped, and mpirun ends the others; of a rank that is killed mpirun or a survivor tells. A rank of a launcher
that stops before it has met the others cannot be named by its process: the others say who has not come. --jobs: so many
cases at once (default 1).

Case I of a seed (default: drawn) is always the same fault; --first: the first that is run (default 1). Prints the seed, counts, the longest end beyond the time limit,
and what was wrong. Exit status: 0 if all is well, else 1. Wants a machine that does nothing else: it measures times.
"""
import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

RANKS, TIMEOUT = 3, 3
# What runs without end, and words of which a case takes one.
JOBS = {"spmm": (["spmm", "twin:cyt:scale=0.02"], [["--algo", name] for name in ("halo", "cover", "rowwise", "halo-pipelined", "bcast-1d")]),
        "tiles": (["spmm", "twin:cyt:scale=0.02"], [["--workgroup", "1", "--algo", name] for name in ("tile-c", "tile-a", "tile-b-steal")]),
        "collective": (["collective", "allreduce", "--bytes", "4M", "--zeros", "0.98", "--device", "cpu"],
                       [["--format", "auto"], ["--format", "pici", "--workgroup", "1"], ["--format", "coo", "--way", "ring"],
                        ["--format", "none"], ["--format", "pici"], ["--format", "none", "--workgroup", "1", "--any-order"]])}
ALWAYS = ["--threads", "1", "--timeout", str(TIMEOUT), "--repeat", "1000000"]
# A rank under mpirun: notes its process, and keeps its messages.
WRAPPER = """#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
echo $$ >"$1/new.$rank"
mv "$1/new.$rank" "$1/pid.$rank"
shift
exec "$@" >"$KILLS_FOLDER/out.$rank" 2>"$KILLS_FOLDER/err.$rank"
"""
lock, lines, problems, late, left_waiting, unnamed = threading.Lock(), {}, [], [], [], []


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_tcp(sley, folder, words):
    """The ranks' processes, which are our children."""
    environment = dict(os.environ, WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
                       SLEY_SECRET="a secret of the tests", SLEY_MACHINE="builtin")
    environment.pop("LOCAL_RANK", None)
    ranks = []
    for rank in range(RANKS):
        environment["RANK"] = str(rank)
        with open(f"{folder}/out.{rank}", "w") as out, open(f"{folder}/err.{rank}", "w") as err:
            ranks.append(subprocess.Popen([sley, *words, "--transport", "tcp"], env=environment, stdout=out, stderr=err))
    return ranks, [process.pid for process in ranks]


def start_forked(sley, folder, words):
    """The command's process, and the ranks that it has forked, as soon as all are there."""
    environment = dict(os.environ, SLEY_MACHINE="builtin")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        environment.pop(name, None)
    with open(f"{folder}/out", "w") as out, open(f"{folder}/err", "w") as err:
        process = subprocess.Popen([sley, *words, "--transport", "tcp", "--ranks", str(RANKS)], env=environment, stdout=out,
                                   stderr=err)
    deadline, pids = time.time() + 60, []
    while len(pids) < RANKS:
        if time.time() > deadline or process.poll() is not None:
            raise RuntimeError(f"{sley} forks no ranks: {read(folder + '/err')}")
        pids = [int(pid) for pid in read(f"/proc/{process.pid}/task/{process.pid}/children").split()]
    return [process], pids


def start_mpi(sley, folder, words, mpirun):
    """mpirun's process, and those of the ranks."""
    wrapper = f"{folder}/rank"
    with open(wrapper, "w") as file:
        file.write(WRAPPER)
    os.chmod(wrapper, 0o755)
    environment = dict(os.environ, KILLS_FOLDER=folder, SLEY_MACHINE="builtin", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    with open(f"{folder}/mpirun", "w") as out:
        process = subprocess.Popen([mpirun, "-n", str(RANKS), wrapper, folder, sley, *words, "--transport", "mpi"],
                                   env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    deadline = time.time() + 60
    while not all(os.path.exists(f"{folder}/pid.{rank}") for rank in range(RANKS)):
        if time.time() > deadline or process.poll() is not None:
            raise RuntimeError(f"{mpirun} starts no ranks: {read(folder + '/mpirun')}")
        time.sleep(0.01)
    return [process], [int(read(f"{folder}/pid.{rank}")) for rank in range(RANKS)]


def await_end(processes, pids, seconds):
    """Whether all end within so many seconds."""
    deadline = time.time() + seconds
    while any(is_alive(pid) for pid in pids):
        if time.time() > deadline:
            return False
        for process in processes:
            process.poll()
        time.sleep(0.01)
    return True


def why_wrong(number, transport, fault, victim, folder):
    """What is missing in what was said; None: nothing."""
    if transport == "forked":
        said, cause = read(f"{folder}/err"), {"kill": "ended by signal 9", "stop": "stopped by signal 19|is stopped"}[fault]
        right = re.search(rf"rank {victim} failed: .*({cause})", said) and len(said.splitlines()) == 1
        return None if right else f"the command says: {said or 'nothing'}"
    said = {rank: read(f"{folder}/err.{rank}") for rank in range(RANKS) if rank != victim}
    named = rf"rank {victim} failed|rank {victim} has not|rank {victim} (of {RANKS} )?did not connect|cannot reach rank {victim} "
    cause = {"kill": r"ended|killed|closed|not connect|refused", "stop": r"is stopped|has not come|not connect|does not answer|refused"}[fault]
    is_told = lambda text: re.search(named, text) and re.search(cause, text)
    if transport == "tcp":
        silent = [rank for rank, text in said.items() if not is_told(text)]
        return f"rank {silent[0]} says: {said[silent[0]] or 'nothing'}" if silent else None
    if fault == "kill":
        text = read(f"{folder}/mpirun")
        if re.search(r"signal 9|SIGNALS?: .*9|KILLED", text) or any(map(is_told, said.values())):
            return None
        # Killed before MPI has started in it: mpirun asks the others to end, and has been seen to name no process.
        if "non-zero exit code" in text and all(each == "sley: interrupted" for each in said.values()):
            with lock:
                unnamed.append(number)
            return None
        return f"mpirun says: {text[-300:]}, the survivors: {said}"
    if any(is_told(text) or re.search(r"(MPI_Init_thread of all ranks|a rank's part in MPI_Comm_idup) has not come within .*: a rank is stopped", text) for text in said.values()):
        return None
    return f"the survivors say: {said}"


def one(options, number):
    dice = random.Random(options.seed * 1000003 + number)
    transport = dice.choice(["tcp", "forked", "mpi"] if options.mpirun else ["tcp", "forked"])
    fault, victim = dice.choice(["kill", "stop"]), dice.randrange(RANKS)
    job, choices = JOBS[options.command or dice.choice(list(JOBS))]
    chosen, moment = dice.choice(choices), dice.choice([0.01, 0.2, 1.5] if transport == "forked" else [0.08, 0.2, 1.5]) * dice.random()
    words = [*job, *ALWAYS, *chosen]
    what = f"case {number}: {transport}, {job[0]} {' '.join(chosen)}, {fault} rank {victim} after {moment:.3f} s"
    with tempfile.TemporaryDirectory() as folder:
        if transport == "mpi":
            processes, pids = start_mpi(options.sley, folder, words, options.mpirun)
        else:
            processes, pids = {"tcp": start_tcp, "forked": start_forked}[transport](options.sley, folder, words)
        time.sleep(moment)
        os.kill(pids[victim], signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
        begin = time.time()
        survivors = [pid for rank, pid in enumerate(pids) if rank != victim]
        if transport == "forked":
            survivors.append(processes[0].pid)
        in_time = await_end(processes, survivors, TIMEOUT + 20)
        took = time.time() - begin
        for pid in [pids[victim]] if in_time else [pids[victim], *survivors]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:  # mpirun, whose ranks have all ended
                process.kill()
                process.wait()
                with lock:
                    left_waiting.append(number)
        wrong = why_wrong(number, transport, fault, victim, folder)
        if transport == "forked" and processes[0].returncode != 1 and not wrong:
            wrong = f"the command ends with {processes[0].returncode}"
    with lock:
        lines[transport, fault] = lines.get((transport, fault), 0) + 1
        late.append(took - TIMEOUT)
        if took > TIMEOUT + options.spare:
            problems.append(f"{what}: the last survivor ended after {took:.1f} s")
        if wrong:
            problems.append(f"{what}: {wrong}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sley")
    parser.add_argument("--command", choices=JOBS)
    parser.add_argument("--mpirun")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--spare", type=float, default=2)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    numbers = iter(range(options.first, options.first + options.count))

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                one(options, number)
            except (OSError, RuntimeError) as error:
                with lock:
                    problems.append(f"case {number}: {error}")

    workers = [threading.Thread(target=work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for (transport, fault), count in sorted(lines.items()):
        print(f"{transport:6} {fault:5} {count:4}")
    if late:
        print(f"the longest end came {max(late):.2f} s after the time limit of {TIMEOUT} s, or before it")
    if left_waiting:
        print(f"mpirun itself had to be killed 30 s after its ranks had ended, in cases {left_waiting}")
    if unnamed:
        print(f"mpirun ended the ranks before they had met and named no process, in cases {unnamed}")
    for problem in problems:
        print("WRONG:", problem)
    print(f"{len(problems)} problems")
    return 1 if problems or not late else 0


if __name__ == "__main__":
    sys.exit(main())
