/* SPDX-License-Identifier: Apache-2.0 */
/* The twins. rows and nnz are the graphs' own. The other values were fitted, at seed 1, so that at 16 equal
 * row blocks remote nonzeros and halo rows match CoLa's Table 2: open and partners were chosen; then, in turn
 * until all deviations were below 1 %, draws was multiplied by wanted / counted nnz, leaving by wanted /
 * counted share of remote nonzeros, and pool by a power of wanted / counted halo rows. Reddit is not in that
 * table; its twin has a share of remote nonzeros near Orkut's, and draws and most were fitted to its nonzeros
 * and longest row (21,657). bench/check_twins prints the results. */
#include "generate/twin.h"

const sl_twin sl_twins[] = {
    {"cyt", "com-Youtube", 1134890, 5975248, true, 1.0090, 0.3728, 1250, 0.48, 3, 3000, 512},
    {"clj", "com-LiveJournal", 3997962, 69362378, true, 1.0157, 0.2894, 40100, 0.52, 4, 3000, 512},
    {"prd", "ogbn-products", 2449029, 123718280, true, 1.0391, 0.1745, 17500, 0.38, 4, 3000, 512},
    {"cok", "com-Orkut", 3072441, 234370166, true, 1.0311, 0.4440, 53000, 0.70, 6, 3000, 512},
    {"cit", "ogbl-citation2", 2927963, 30387995, false, 1.0177, 0.2275, 45900, 0.50, 4, 3000, 512},
    {"slj", "soc-LiveJournal", 4847571, 68993773, false, 1.0196, 0.3126, 133300, 0.50, 4, 3000, 512},
    {"spk", "soc-Pokec", 1632803, 30622564, false, 1.0191, 0.3911, 124900, 0.60, 4, 3000, 512},
    {"sso", "sx-stackoverflow", 2601977, 36233450, false, 1.0098, 0.6529, 141100, 0.75, 4, 3000, 512},
    {"red", "reddit", 232965, 114615892, true, 1.0945, 0.45, 9000, 0.70, 6, 1300, 4096},
};

const int sl_twin_count = sizeof sl_twins / sizeof *sl_twins;
