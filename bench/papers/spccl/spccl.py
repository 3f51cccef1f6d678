# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts for figures of the SpCCL paper: options, runs of the command.

The paper: J. Hough et al., Adaptive Space-efficient Collectives for Dynamic and Unstructured Sparsity on GPU Platforms (SpCCL)."""
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import paper  # noqa: E402
from paper import common  # noqa: E402, F401

# The ways and formats that figure 9 compares: name, --way, --format.
SLEY_WAYS = [("Sley", "auto", "auto"), ("direct, pici", "direct", "pici"), ("two-level, pici", "two-level", "pici"),
             ("SpCCL's ring, pici", "ring", "pici")]
SPARCML = [("recursive doubling, coo", "recursive-doubling", "coo"), ("split all-gather, coo", "split-allgather", "coo"),
           ("split, dense, coo", "split-dense", "coo"), ("ring, coo", "ring", "coo")]


def parser_of(doc, name):
    parser = paper.parser_of(doc, "spccl", name)
    parser.add("--rate", "1gbit", "of every host's link, each way; 0: no links, processes of this machine over tcp")
    parser.add("--repeat", 5, "measurements of each collective")
    return parser


def layout_of(parser, text):
    """Hosts and ranks of each, of HOSTSxRANKS."""
    numbers = text.split("x")
    if len(numbers) != 2:
        parser.error(f"a layout is HOSTSxRANKS, such as 4x2, not {text!r}")
    return tuple(number for each in numbers for number in parser.numbers("--layout", each))


def measure(args, kind, layout, *words):
    """The command's report on a collective between processes, each host a workgroup."""
    hosts, per_host = layout
    launch = [] if args.rate == "0" else common.on_hosts(hosts, per_host, args.rate)
    more = [] if launch else ["--ranks", hosts * per_host, "--workgroup", per_host]
    return common.sley(args.sley, "collective", kind, "--transport", "tcp", "--threads", 1, "--device", "cpu", "--seed", args.seed, "--repeat", args.repeat,
                       "--warmup", 1, *more, *words, launch=launch)
