#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates twins of the published graphs at full size and compares rows, nonzeros, and the volumes V_FR and V_FC at 16 equal row
blocks and k = 32 in 4-byte values, in MiB, with the figures of CoLa's table 2. That table has no line for reddit; its twin is
compared by the longest row instead.

    bench/check_twins.py [NAME ...]     without a name: all; exit status 1 if one exceeds the bounds

Needs SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed."""
import numpy as np

import common
import sley
from sley.ordering import partition_equal

RANKS, MIB_PER_ROW = 16, 4 * 32 / common.MIB
BOUNDS = {"nnz": 2, "V_FR": 5, "V_FC": 5, "longest": 10}  # in percent
PUBLISHED = {  # of, rows, nonzeros, V_FR, V_FC, longest row; 0: not published, or not compared
    "cyt": ("com-Youtube", 1134890, 5975248, 271.85, 92.75, 0), "clj": ("com-LiveJournal", 3997962, 69362378, 2481.61, 835.43, 0),
    "prd": ("ogbn-products", 2449029, 123718280, 2714.10, 497.93, 0), "cok": ("com-Orkut", 3072441, 234370166, 12964.64, 1723.12, 0),
    "cit": ("ogbl-citation2", 2927963, 30387995, 858.12, 285.83, 0), "slj": ("soc-LiveJournal", 4847571, 68993773, 2681.62, 822.49, 0),
    "spk": ("soc-Pokec", 1632803, 30622564, 1491.62, 575.96, 0), "sso": ("sx-stackoverflow", 2601977, 36233450, 2910.63, 818.91, 0),
    "red": ("reddit", 232965, 114615892, 0, 0, 21657)}


def check(name):
    """A row of the table."""
    of, rows, *published = PUBLISHED[name]
    twin = sley.generate(f"twin:{name}", dtype=np.float32)
    begin = np.asarray(twin.indptr)
    owner = np.searchsorted(partition_equal(rows, RANKS)[1:], np.arange(rows), side="right")
    remote, halo = common.count_remote(begin, np.asarray(twin.indices), owner, RANKS)
    found = [twin.nnz, remote * MIB_PER_ROW, halo * MIB_PER_ROW, int(np.diff(begin).max())]
    off = [100 * (value / wanted - 1) if wanted else 0.0 for value, wanted in zip(found, published)]
    right = twin.shape == (rows, rows) and all(abs(percent) <= bound for percent, bound in zip(off, BOUNDS.values()))
    return [name, of, rows, *(f"{common.text(value)} {percent:+.2f} %" for value, percent in zip(found, off)), "PASS" if right else "FAIL"]


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[])
    names = parser.parse_args().names or list(PUBLISHED)
    rows = [check(name) for name in parser.names("NAME", ",".join(names), PUBLISHED)]
    common.show(["twin", "of", "rows", *BOUNDS, ""], rows)
    return any(row[-1] == "FAIL" for row in rows)


if __name__ == "__main__":
    common.start(main)
