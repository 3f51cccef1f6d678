#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile sessions against the ranks of a TCP job: strangers while ranks meet, and a proven rank while they work.

  hostile.py SLEY [--strangers N] [--members N] [--breakers N] [--seed S] [--pause S]

Strangers (default 300 sessions) know the port, the job and all of the protocol, but not the secret. They send garbage,
claims with every field at its edges, claims by other keys, replays and reflections, halves of messages, or nothing; they
come alone and in floods, close at once, in order, by reset or never, and hold rank 0's port before it. The job has three
ranks, which must end with exit status 0 and a product that their own check finds right.

A member (default 20 sessions) is a rank 1 that knows the secret, and sends messages with fields at their edges at any
time. Rank 0 must end with an error that names rank 1, or in order, in time and by no signal.

A breaker (default 20 sessions) is a rank 1 of two or three that keeps to the protocol for some messages, and then sends one
header that is wrong: its kind, tag, length, slot or place, twice, too early or too late. It stays, and its pulse beats, so
the others must find that out by themselves: all end, in time, with an error that names rank 1.

Prints the seed, the sessions by kind, and by how much strangers delay the job. Exit status: 0 if all is well, else 1.
"""
import argparse
import hashlib
import hmac
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

MAGIC, PROTOCOL, BASIS = 0x32597970656C5379, 3, 14695981039346656037
HELLO, MESSAGES, URGENT, PULSE = 1, 2, 3, 4
ENTRY_BYTES, ERROR_BYTES, HOST_BYTES = 408, 992, 128
TEXT = "a secret of the tests"
EDGES = [0, 1, -1, 2, 3, 7, 8, 9, 16, 40, 991, 992, 993, 4096, 8192, 8196, 1 << 16, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 47,
         1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 31), (1 << 63) - 8]
TAGS = [0, 1, 2, 1 << 55, 1 << 56, (1 << 56) + 1, (1 << 56) + 2, 2 << 56, (2 << 56) + 1, 3 << 56, (3 << 56) + 2, 4 << 56,
        5 << 56, (1 << 64) - 1]
ARGUMENTS = ["spmm", "er:n=64,nnz=400", "--k", "4", "--transport", "tcp", "--threads", "1", "--timeout", "30"]

OPTIONS = {"pause": 0.002}  # seconds between the sessions of an attacker

counts, problems, lock = {}, [], threading.Lock()


def count(kind):
    with lock:
        counts[kind] = counts.get(kind, 0) + 1


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def label(text):
    return text.ljust(16, b"\0")


SECRET = mac(label(b"sley secret"), TEXT.encode())


def hello_of(size=3, port=1, pid=None, space=1, host=b"somewhere", status=0, rank=-1, text=b""):
    error = struct.pack("<iiB", status, rank, 0) + text.ljust(983, b"\0")
    wrap = lambda v, bits: v & ((1 << bits) - 1)
    return struct.pack("<IIQQ", wrap(size, 32), wrap(port, 32), wrap(os.getpid() if pid is None else pid, 64),
                       wrap(space, 64)) + host.ljust(HOST_BYTES, b"\0")[:HOST_BYTES] + error[:ERROR_BYTES]


def claim_of(key, challenge, kind, job, sender, to, port, payload=b"", magic=MAGIC, version=PROTOCOL, length=None):
    wrap = lambda v, bits: v & ((1 << bits) - 1)
    head = struct.pack("<QIIQIIII", magic, wrap(version, 32), wrap(kind, 32), wrap(job, 64), wrap(sender, 32), wrap(to, 32),
                       wrap(port, 32), wrap(len(payload) if length is None else length, 32)) + os.urandom(32)
    return head + mac(key, label(b"sley visitor"), challenge, head, payload) + payload


def take(sock, length):
    data = b""
    while len(data) < length:
        piece = sock.recv(length - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return data


def connect(port, timeout=10):
    sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    sock.settimeout(timeout)
    return sock


class Job:
    """Ranks of this machine, as a launcher starts them."""

    def __init__(self, sley, size, port):
        self.sley, self.size, self.port, self.ranks = sley, size, port, {}
        self.job = BASIS ^ port

    def start(self, rank):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(self.size), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(self.port), SLEY_SECRET=TEXT, SLEY_MACHINE="builtin")
        environment.pop("LOCAL_RANK", None)
        self.ranks[rank] = subprocess.Popen([self.sley, *ARGUMENTS], env=environment, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True)

    def listening(self, rank):
        """The ports at which a rank listens."""
        pid = self.ranks[rank].pid
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            lines = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/{pid}/net/{name}").readlines()[1:]]
        except OSError:
            return []
        inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
        return [(int(f[1].split(":")[1], 16), f[1].split(":")[0]) for f in lines if f[3] == "0A" and f[9] in inodes]

    def await_port(self, rank, seconds=60):
        deadline = time.time() + seconds
        while time.time() < deadline and self.ranks[rank].poll() is None:
            ports = self.listening(rank)
            if ports:
                if any(address != "0100007F" for _, address in ports):
                    problems.append(f"rank {rank} listens beyond loopback: {ports}")
                return ports[0][0]
            time.sleep(0.01)
        self.ranks[rank].kill()
        raise RuntimeError(f"rank {rank} does not listen: {self.ranks[rank].communicate()[1][-500:]}")

    def end(self, seconds=120):
        """By rank: exit status, what it has written."""
        ended = {}
        for rank, process in self.ranks.items():
            try:
                out, err = process.communicate(timeout=seconds)
                ended[rank] = process.returncode, out, err
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                ended[rank] = "hang", out, err
        for rank, (code, _, err) in ended.items():
            if re.search("Sanitizer|runtime error", err) or code == "hang" or (code < 0 and code != -9):
                problems.append(f"rank {rank} ends with {code}: {err[-1500:]}")
        return ended


# ---- strangers

def edge_claim(challenge, job, port, key):
    fields = dict(kind=HELLO, job=job, sender=1, to=0, port=port, magic=MAGIC, version=PROTOCOL, length=None)
    payload = hello_of() if random.random() < 0.6 else b""
    if not payload:
        fields["kind"] = random.choice([MESSAGES, URGENT, PULSE])
    for name in random.sample(list(fields), random.choice([0, 1, 1, 1, 2, 3])):
        fields[name] = random.choice(EDGES) if name != "magic" else random.getrandbits(64)
    return claim_of(key, challenge, payload=payload, **fields)


def stranger(job, port, held, patience=10):
    """One session; a socket that stays open goes to held. A listener is given so many seconds for an answer."""
    kind = random.choice(["garbage", "silent", "half", "edges", "other key", "empty key", "replay", "reflection", "reset",
                          "request", "header"] * 6 + ["flood"])
    try:
        if kind == "flood":
            for _ in range(39):
                held.append(connect(port))
                count(kind)
        sock = connect(port, patience)
        count(kind)
        challenge = take(sock, 48) if kind not in ("silent", "garbage", "reset", "request", "header", "flood") else b""
        if kind == "garbage":
            sock.sendall(os.urandom(random.choice([1, 16, 104, 1248, 5000, 100000])))
        elif kind == "half":
            sock.sendall(claim_of(SECRET, challenge, HELLO, job, 1, 0, port, hello_of())[:random.randrange(1, 1248)])
        elif kind == "edges":
            sock.sendall(edge_claim(challenge, job, port, random.choice([bytes(32), os.urandom(32)])))
        elif kind == "other key":
            sock.sendall(claim_of(os.urandom(32), challenge, HELLO, job, random.choice([1, 2]), 0, port, hello_of()))
        elif kind == "empty key":
            sock.sendall(claim_of(bytes(32), challenge, random.choice([HELLO, URGENT]), job, 1, 0, port, hello_of()))
        elif kind == "replay":  # a true claim, for the challenge of another connection
            other = connect(port, patience)
            sock.sendall(claim_of(SECRET, take(other, 48), HELLO, job, random.choice([1, 2]), 0, port, hello_of()))
            other.close()
        elif kind == "reflection":
            sock.sendall((challenge * 30)[:1248])
        elif kind == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
            return
        elif kind == "request":
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        elif kind == "header":
            sock.sendall(header() * random.choice([1, 40]))
        if kind in ("other key", "empty key", "replay", "reflection"):
            if sock.recv(1):  # the proof, which only a rank gets
                problems.append(f"a stranger is let in: {kind}")
        if kind in ("silent", "half", "flood") or random.random() < 0.2:
            if random.random() < 0.2:
                sock.shutdown(socket.SHUT_WR)
            held.append(sock)
        else:
            sock.close()
    except OSError:  # sent away
        pass
    while len(held) > 400:
        held.pop(random.randrange(len(held))).close()


def hold_port(port, stop):
    """A listener on rank 0's port, which is no rank."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    listener.settimeout(0.2)

    def serve():
        kept = []
        while not stop.is_set():
            try:
                sock = listener.accept()[0]
            except OSError:
                continue
            count("listener")
            what = random.choice(["close", "garbage", "silent", "challenge", "version"])
            try:
                if what == "garbage":
                    sock.sendall(os.urandom(64))
                elif what in ("challenge", "version"):
                    sock.sendall(struct.pack("<QII", MAGIC, 2 if what == "challenge" else 9, 0) + os.urandom(32) + os.urandom(40))
            except OSError:
                pass
            kept.append(sock) if what == "silent" else sock.close()
        listener.close()

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def right(ended, rank0_says="check      ok"):
    return all(code == 0 for code, _, _ in ended.values()) and rank0_says in ended[0][1]


def meet_among_strangers(sley, sessions, held_port):
    """A job of three ranks, the last of which comes while strangers do; the seconds from then to its end."""
    job, stop, over, held, thread = Job(sley, 3, free_port()), threading.Event(), threading.Event(), [], None
    if held_port:
        thread = hold_port(job.port, stop)
    job.start(0)
    port = job.await_port(0)
    if sessions:
        for _ in range(sessions // 3):
            stranger(job.job, port, held)
    job.start(1)
    ports = [(port, 10), (job.await_port(1), 0.1)]  # rank 1 answers only once all have come
    left = [sessions - sessions // 3]

    def go_on():
        while left[0] > 0 or not over.is_set():
            left[0] -= 1
            if left[0] < 0 and sessions == 0:
                return
            target, patience = random.choice(ports)
            stranger(job.job, target, held, patience)
            time.sleep(OPTIONS["pause"])
            if left[0] <= 0 and all(p.poll() is not None for p in job.ranks.values()):
                return

    attackers = [threading.Thread(target=go_on) for _ in range(2 if sessions else 0)]
    for attacker in attackers:
        attacker.start()
    while left[0] > sessions // 3:
        time.sleep(0.01)
    start = time.time()
    job.start(2)
    ended = job.end()
    seconds = time.time() - start
    over.set()
    for attacker in attackers:
        attacker.join()
    stop.set()
    if thread:
        thread.join()
    for sock in held:
        sock.close()
    if not right(ended):
        problems.append(f"among strangers: {[(code, err[-300:]) for code, _, err in ended.values()]}")
    return seconds


# ---- a member

def header():
    slot = random.choice([0, 0, 0, 1, 7, 8, 9])
    access = random.choice([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, random.getrandbits(16)]) | slot << 16
    kind = random.choice([0, 1, 2, 3, 4, 4, 4, 5, random.getrandbits(32)])
    pick = lambda: random.choice(EDGES) & ((1 << 64) - 1)
    return struct.pack("<IIQQQQ", kind, access, random.choice(TAGS), pick(), pick(), pick())


def prove(job, port, kind, payload=b""):
    sock = connect(port)
    challenge = take(sock, 48)
    claim = claim_of(SECRET, challenge, kind, job, 1, 0, port, payload)
    sock.sendall(claim)
    proof = take(sock, 40)
    if proof[8:] != mac(SECRET, label(b"sley listener"), challenge, claim[:104]):
        problems.append("the listener's proof is wrong")
    return sock


def member(sley):
    """Rank 1 of two, which breaks the protocol."""
    job, socks = Job(sley, 2, free_port()), []
    stage = random.choice(["hello", "lines", "first", "first", "later", "later", "flood", "gets", "pulse"])
    count("member: " + stage)
    job.start(0)
    port = job.await_port(0)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    try:
        if stage == "hello":
            field = random.choice(["size", "port", "pid", "host", "status", "rank"])
            value = os.urandom(HOST_BYTES) if field == "host" else random.choice([v for v in EDGES if abs(v) < 1 << 31])
            fields = dict(size=2, port=listener.getsockname()[1], text=b"\xff" * 983)
            fields[field] = value
            socks.append(prove(job.job, port, HELLO, hello_of(**fields)))
            socks[0].settimeout(3)
            take(socks[0], ERROR_BYTES)
        else:
            own = open("/proc/sys/kernel/random/boot_id").read().strip()
            host = f"{socket.gethostname()} {own} {os.stat('/proc/self/ns/net').st_ino}".encode()
            near = random.random() < 0.5
            socks.append(prove(job.job, port, HELLO, hello_of(size=2, port=listener.getsockname()[1],
                                                              host=host if near else b"far away")))
            take(socks[0], ERROR_BYTES + 2 * ENTRY_BYTES)
            kinds = [URGENT, PULSE]
            if stage == "lines":
                kinds = [random.choice([MESSAGES, URGENT, PULSE]) for _ in range(3)]
            socks.extend(prove(job.job, port, kind) for kind in kinds)
        if stage == "later":  # what a rank would say at first: it agrees on whatever rank 0 calls
            for _ in range(random.randrange(1, 6)):
                sock = socks[0]
                sock.settimeout(5)
                head = take(sock, 40)
                body = take(sock, struct.unpack("<Q", head[16:24])[0])
                sock.sendall(head + body)
        if stage in ("first", "later"):
            for _ in range(random.choice([1, 3, 30])):
                random.choice(socks).sendall(header() + os.urandom(random.choice([0, 0, 8, 16, 992])))
        elif stage == "flood":
            socks[random.randrange(2)].sendall(header() * 5000)
        elif stage == "gets":
            length = random.choice([0, 8, 1 << 20, (1 << 63) - 1])
            socks[1].sendall(struct.pack("<IIQQQQ", 4, 1, random.randrange(3), 0, 0, length) * 1000)
        elif stage == "pulse":
            socks[-1].sendall(os.urandom(1 << 20))
        time.sleep(random.choice([0, 0.05]))
    except OSError:
        pass
    for sock in [*socks, listener]:
        sock.close()
    code, _, err = job.end(60)[0]
    said = err.strip().splitlines()[-1] if err.strip() else ""
    if code == 0 or code not in (1, 2) or (stage != "hello" and "rank 1" not in said):
        problems.append(f"member, {stage}: rank 0 ends with {code}: {said}")


# ---- a rank that breaks off

class Peer:
    """A breaker's sockets with a rank, by kind."""

    def __init__(self, rank):
        self.rank, self.socks = rank, {}

    def agree(self, messages):
        """Says what the peer says, and so agrees to all that it calls."""
        sock = self.socks[MESSAGES]
        for _ in range(messages):
            head = take(sock, 40)
            body = take(sock, struct.unpack("<Q", head[16:24])[0])
            sock.sendall(head + body)
        self.head = take(sock, 40)
        self.body = take(sock, struct.unpack("<Q", self.head[16:24])[0])

    def breach(self):
        """Answers the next message with a header that is wrong; says in what."""
        fields = list(struct.unpack("<IHHQQQQ", self.head))  # kind, access, slot, tag, bytes, at, length
        top, low = fields[3] >> 56, fields[3] & ((1 << 56) - 1)
        what = random.choice(["tag"] * 6 + ["bytes", "bytes", "kind", "access", "slot", "at", "length", "twice", "urgent"])
        if what == "tag":
            fields[3] = random.choice([top << 56 | (low + random.choice([-1, 1, 2, 1000])) % (1 << 56), random.getrandbits(56),
                                       random.randrange(5, 256) << 56 | low, (top % 3 + 1) << 56 | (low + 3), low + 5,
                                       random.getrandbits(64) | 1 << 63])
        elif what == "bytes":
            fields[4] = random.choice([b for b in (0, 1, fields[4] + 1, fields[4] + 8, 1 << 40) if b != fields[4]])
        elif what in ("kind", "access", "slot", "at", "length"):
            at = ("kind", "access", "slot", "tag", "bytes", "at", "length").index(what)
            fields[at] = random.choice([1, 2, 5, 9, 300]) if at < 3 else random.getrandbits(64) | 1
            if what == "kind" and fields[0] == 1:
                fields[0] = 77
        wrong = struct.pack("<IHHQQQQ", *fields)
        if what == "twice":
            self.socks[MESSAGES].sendall(self.head + self.body + self.head)
        self.socks[URGENT if what == "urgent" else MESSAGES].sendall(wrong + self.body)
        return what


def receive_lines(listener, job, peer):
    """Lets a rank above prove itself on its three connections, and proves itself to it."""
    while len(peer.socks) < 3:
        sock = listener.accept()[0]
        sock.settimeout(10)
        challenge = struct.pack("<QII", MAGIC, PROTOCOL, 0) + os.urandom(32)
        sock.sendall(challenge)
        claim = take(sock, 104)
        sock.sendall(struct.pack("<Q", MAGIC) + mac(SECRET, label(b"sley listener"), challenge, claim))
        peer.socks[struct.unpack("<I", claim[12:16])[0]] = sock


def breaker(sley):
    """Rank 1 of two or three, which sends one wrong header and stays."""
    size = random.choice([2, 3])
    job, peers, over, what = Job(sley, size, free_port()), [Peer(0)], threading.Event(), "nothing"
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    listener.settimeout(20)

    def beat():
        while not over.wait(0.2):
            for peer in peers:
                try:
                    peer.socks[PULSE].sendall(b"\0")
                except (OSError, KeyError):
                    pass

    job.start(0)
    port = job.await_port(0)
    for rank in range(2, size):
        job.start(rank)
        peers.append(Peer(rank))
    heart = threading.Thread(target=beat)
    heart.start()
    begin = time.time()
    try:
        first = peers[0].socks
        first[MESSAGES] = prove(job.job, port, HELLO, hello_of(size=size, port=listener.getsockname()[1], host=b"far away"))
        take(first[MESSAGES], ERROR_BYTES + size * ENTRY_BYTES)
        for kind in (URGENT, PULSE):
            first[kind] = prove(job.job, port, kind)
        for peer in peers[1:]:
            receive_lines(listener, job, peer)
        messages = random.choice([0, 1, 2, 3, 5, 8, 12, 20])
        agreeing = [threading.Thread(target=agree_quietly, args=(peer, messages)) for peer in peers]
        for each in agreeing:
            each.start()
        for each in agreeing:
            each.join()
        begin = time.time()
        broken = peers if random.random() < 0.5 else [random.choice(peers)]
        for peer in broken:
            what = peer.breach()
        for peer in peers:
            if peer not in broken:
                threading.Thread(target=agree_quietly, args=(peer, None)).start()
    except (OSError, AttributeError):  # it has ended already
        pass
    ended = job.end(50)
    took = time.time() - begin
    over.set()
    heart.join()
    for sock in [listener, *(s for peer in peers for s in peer.socks.values())]:
        sock.close()
    count("breaker: " + what)
    for rank, (code, _, err) in ended.items():
        if code not in (1, 2) or "rank 1" not in err or took > 30:
            problems.append(f"breaker, {what}, of {size} ranks: rank {rank} ends with {code} after {took:.1f} s: {err[-400:]}")


def agree_quietly(peer, messages):
    """Until the end where messages is None."""
    try:
        if messages is None:
            peer.socks[MESSAGES].sendall(peer.head + peer.body)
        peer.agree(1 << 30 if messages is None else messages)
    except OSError:
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sley")
    parser.add_argument("--strangers", type=int, default=300)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--breakers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30), help="default: drawn")
    parser.add_argument("--pause", type=float, default=0.002, help="seconds between the sessions of each of two attackers")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    OPTIONS["pause"] = options.pause
    per_job = 150
    plain = options.strangers > 0 and sorted(meet_among_strangers(options.sley, 0, False) for _ in range(5))[2]
    delays = []
    while sum(counts.values()) < options.strangers:
        delays.append(meet_among_strangers(options.sley, per_job, random.random() < 0.3))
    strangers = sum(counts.values())
    for _ in range(options.members):
        member(options.sley)
    for _ in range(options.breakers):
        breaker(options.sley)
    for kind in sorted(counts):
        print(f"{kind:20} {counts[kind]:6}")
    delays.sort()
    print(f"{strangers} sessions of strangers, {options.members} of members, {options.breakers} of breakers")
    if delays:
        print(f"from the last rank's start to the end: {plain:.2f} s without strangers, {delays[len(delays) // 2]:.2f} s with "
              f"(median), {delays[-1]:.2f} s at most")
    for problem in problems:
        print("WRONG:", problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
