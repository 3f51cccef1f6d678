#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long plain sockets take to move given numbers of bytes between hosts, all at once: the best time that a run with the same
traffic can reach.

  flows.py [--repeat N] [--port P] FROM:TO:BYTES...

Each rank runs it with the variables of torchrun, as tests/hosts/hosts.sh sets them; the address of rank R is rank 0's with R
added to its last number. All ranks meet between two rounds. Rank 0 prints the median, least and greatest time of the rounds.
"""
import argparse
import os
import socket
import statistics
import threading
import time

PIECE = 1 << 16
UNSENT = 128 * 1024  # TCP_NOTSENT_LOWAT, as for Sley's sockets


def dial(host, port, rank):
    while True:
        try:
            sock = socket.create_connection((host, port))
            break
        except OSError:
            time.sleep(0.05)
    sock.sendall(bytes([rank]))
    return sock


def connect(rank, size, address, port):
    """A socket to every other rank."""
    network, first = address.rsplit(".", 1)
    listener = socket.create_server(("", port))
    peers = {p: dial(f"{network}.{int(first) + p}", port, rank) for p in range(rank)}
    while len(peers) < size - 1:
        sock, _ = listener.accept()
        peers[sock.recv(1)[0]] = sock
    for sock in peers.values():
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
    return peers


def take(sock, count):
    room = memoryview(bytearray(PIECE))
    while count > 0:
        got = sock.recv_into(room[:min(count, PIECE)])
        if got == 0:
            raise ConnectionError("a rank has ended")
        count -= got


def meet(rank, peers):
    if rank > 0:
        peers[0].sendall(b"x")
        take(peers[0], 1)
        return
    for sock in peers.values():
        take(sock, 1)
    for sock in peers.values():
        sock.sendall(b"x")


def move(rank, peers, flows):
    jobs = []
    for (of, to), count in flows.items():
        if of == rank:
            jobs.append(threading.Thread(target=peers[to].sendall, args=(bytes(count),)))
        if to == rank:
            jobs.append(threading.Thread(target=take, args=(peers[of], count)))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flows", nargs="+", metavar="FROM:TO:BYTES")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--port", type=int, default=29500)
    options = parser.parse_args()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    flows = {}
    for flow in options.flows:
        of, to, count = map(int, flow.split(":"))
        flows[of, to] = count
    peers = connect(rank, size, os.environ["MASTER_ADDR"], options.port)
    rounds = []
    for _ in range(options.repeat + 1):  # the first does not count
        meet(rank, peers)
        start = time.monotonic()
        move(rank, peers, flows)
        meet(rank, peers)
        rounds.append(1e3 * (time.monotonic() - start))
    rounds = sorted(rounds[1:])
    if rank == 0:
        print(f"median {statistics.median(rounds):.0f} ms, least {rounds[0]:.0f}, most {rounds[-1]:.0f}")


if __name__ == "__main__":
    main()
