/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ops_arrays.h"

#include <string.h>

static bool has(const cli_op *op, int array) {
  return (op->reads[0] | op->reads[1] | op->writes[0] | op->writes[1]) & (1U << array);
}

/* Values per row of an array. */
static int64_t width_of(const cli_op_case *c, cli_op_array array) {
  if (cli_op_of_entries(c->op, array))
    return c->heads;
  if (array == CLI_OP_SOURCE || array == CLI_OP_D_SOURCE)
    return c->source_ld;
  if (array == CLI_OP_QUERY || array == CLI_OP_D_QUERY)
    return c->query_width;
  return array == CLI_OP_SAVED ? c->saved_bytes : c->heads * c->width;
}

static size_t value_bytes(const cli_op_case *c, cli_op_array array) {
  if (array == CLI_OP_ARG)
    return sizeof(int32_t);
  if (array == CLI_OP_D_A && c->dtype != SLEY_F64)
    return sizeof(float);
  return array == CLI_OP_SAVED ? 1 : sley_dtype_bytes(c->dtype);
}

static void find_rows(const cli_op_case *c, cli_op_array array, cli_op_data *data) {
  const int rank = sley_comm_rank(c->comm);
  const bool of_cols = array == CLI_OP_SOURCE || array == CLI_OP_D_SOURCE;
  const int64_t *begin = of_cols ? c->col_begin : c->row_begin;
  data->first = begin[rank];
  data->count = begin[rank + 1] - begin[rank];
  if (cli_op_of_entries(c->op, array)) {
    data->first = c->csr.rowptr[begin[rank]];
    data->count = c->csr.rowptr[begin[rank + 1]] - data->first;
  } else if (array == CLI_OP_A || array == CLI_OP_D_A || array == CLI_OP_SAVED) {
    data->first = 0;
    data->count = 1;
  }
}

bool cli_op_on_host(const cli_op_case *c) {
  return strcmp(sley_comm_device(c->comm), "cpu") == 0;
}

/* Creates an array. Operands get random values. */
static sley_status open_array(cli_op_case *c, cli_op_array array) {
  cli_op_data *data = &c->data[array];
  find_rows(c, array, data);
  data->cols = width_of(c, array);
  data->value = value_bytes(c, array);
  data->bytes = data->count * data->cols * (int64_t)data->value;
  sley_status status = sley_buffer_alloc(data->bytes, &data->host);
  data->here = data->host;
  if (status == SLEY_OK && !cli_op_on_host(c)) {
    data->here = NULL;
    status = sley_comm_alloc(c->comm, data->bytes, &data->here);
  }
  const bool written = (c->op->writes[CLI_FORWARD] | c->op->writes[CLI_BACKWARD]) & (1U << array);
  if (status == SLEY_OK && !written)
    status = sley_dense_random(c->seed + (uint64_t)array, data->first, data->count, data->cols, NULL,
                               c->dtype, data->host, data->cols);
  if (status == SLEY_OK && !written && !cli_op_on_host(c))
    status = sley_comm_copy(c->comm, data->here, data->host, data->bytes, SLEY_TO_DEVICE);
  return status;
}

static sley_status open_fetched(cli_op_case *c) {
  sley_graph_info info;
  sley_status status = c->fetched_width > 0 ? sley_graph_info_get(c->graph, &info) : SLEY_OK;
  if (status != SLEY_OK || c->fetched_width == 0 || info.halo_rows == 0)
    return status;
  return sley_comm_alloc(c->comm, info.halo_rows * c->fetched_width * (int64_t)sley_dtype_bytes(c->dtype),
                         &c->fetched.rows);
}

sley_status cli_op_case_open(cli_op_case *c) {
  sley_status status = SLEY_OK;
  for (int i = 0; i < CLI_OP_ARRAYS && status == SLEY_OK; i++)
    if (has(c->op, i))
      status = open_array(c, (cli_op_array)i);
  return status == SLEY_OK ? open_fetched(c) : status;
}

void cli_op_case_close(cli_op_case *c) {
  if (!c->op)
    return;
  c->op->destroy(c);
  sley_comm_free(c->comm, c->fetched.rows);
  for (int i = 0; i < CLI_OP_ARRAYS; i++) {
    if (c->data[i].here != c->data[i].host)
      sley_comm_free(c->comm, c->data[i].here);
    sley_buffer_free(c->data[i].host);
  }
}

sley_status cli_op_copy_written(const cli_op_case *c, cli_pass pass, bool back) {
  sley_status status = SLEY_OK;
  for (int i = 0; i < CLI_OP_ARRAYS && status == SLEY_OK && !cli_op_on_host(c); i++) {
    const cli_op_data *data = &c->data[i];
    if (c->op->writes[pass] & (1U << i))
      status = sley_comm_copy(c->comm, back ? data->host : data->here, back ? data->here : data->host,
                              data->bytes, back ? SLEY_TO_HOST : SLEY_TO_DEVICE);
  }
  return status;
}
