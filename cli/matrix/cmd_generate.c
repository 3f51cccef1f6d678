/* SPDX-License-Identifier: Apache-2.0 */
/* `sley generate`: runs a generator and writes its matrix. */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "common.h"
#include "matrix/job.h"
#include "matrix/write.h"
#include "output/changes.h"
#include "output/output.h"

typedef struct generate_settings {
  cli_common common;
  const char *output;
} generate_settings;

#define AT(field) offsetof(generate_settings, field)
static const cli_option own_options[] = {
    {.name = "output",
     .letter = 'o',
     .required = true,
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(output),
     .help = "the file to write; the ending of its name chooses the format"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const generate_settings defaults = {.common = {.dtype = "f64", .seed = 1}};

static int run(void *settings_, char **positionals) {
  const generate_settings *settings = settings_;
  if (!strchr(positionals[0], ':'))
    return cli_refuse(SLEY_ERR_ARG, "generate: \"%s\" names no generator; sley generate --help lists them",
                      positionals[0]);
  if (access(positionals[0], F_OK) == 0)
    return cli_refuse(SLEY_ERR_ARG, "generate: %s is a file, not a generator; use sley convert",
                      positionals[0]);
  if (!cli_output_matrix_ending(settings->output))
    return CLI_USAGE;
  if (!cli_output_possible(settings->output))
    return CLI_FAILED;
  cli_seed_no_effect("generate", false, positionals[0], NULL, NULL);
  sley_matrix *matrix = NULL;
  sley_status status = cli_load(positionals[0], settings->common.dtype, settings->common.threads,
                                settings->common.seed, 0, NULL, &matrix);
  if (status == SLEY_OK)
    status = cli_write_matrix(matrix, settings->output);
  sley_matrix_destroy(matrix);
  return cli_finish(status);
}

const cli_command cli_generate = {
    .name = "generate",
    .summary = "make a matrix: R-MAT, random, or the twin of a published graph",
    .arguments = "SPEC",
    .positionals = 1,
    .options = options,
    .common = CLI_TAKES_THREADS | CLI_TAKES_DTYPE | CLI_TAKES_SEED,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "SPEC is one of\n"
             "  twin:NAME[:scale=1,seed=S]           twin of a published graph: cyt clj prd cok cit slj spk "
             "sso red\n"
             "  rmat:scale=S[,edgefactor=8,a=0.57,b=0.19,c=0.19,undirected,shuffle,seed=S]\n"
             "  er:n=N,nnz=M[,m=ROWS,seed=S]         M entries, uniformly placed\n"
             "  dense:rows=R,cols=C   diag:n=N   band:n=N,width=W   grid:nx=X,ny=Y   empty:rows=R,cols=C\n",
    .run = run};
