/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline: valid JSON with every rank's events, spans that nest, and no run that fails because of it. */
#include <jansson.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "support.h"
#include "transport/trace/trace.h"

enum { RANKS = 3, ROWS = 5, BYTES = 8 };

static char path[] = "/tmp/sley-test-trace-XXXXXX";

static json_t *read_timeline(void) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (!root)
    fail_msg("%s:%d: %s", path, error.line, error.text);
  return root;
}

static const char *text_of(json_t *event, const char *key) {
  const char *text = json_string_value(json_object_get(event, key));
  return text ? text : "";
}

/* Events of a phase (and name, unless NULL) of a rank. */
static int count_events(json_t *root, const char *phase, const char *name, int rank) {
  int count = 0;
  size_t i;
  json_t *event;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    count += strcmp(text_of(event, "ph"), phase) == 0 &&
             (!name || strcmp(text_of(event, "name"), name) == 0) &&
             json_integer_value(json_object_get(event, "tid")) == rank;
  }
  return count;
}

/* Rows go round the ring; rank 0 fails at the end if arg says so. */
static sley_status ring_main(sley_comm *comm, void *arg) {
  int size = comm->size;
  char src[ROWS * BYTES] = {0}, dst[ROWS * BYTES];
  sl_row_list send = {.peer = (comm->rank + 1) % size, .count = ROWS, .bytes = BYTES};
  sl_row_list recv = {.peer = (comm->rank + size - 1) % size, .count = ROWS, .bytes = BYTES};
  sl_exchange_spec spec = {
      .name = "ring \"1\"\n\\ \xc3\xbc", .sends = 1, .recvs = 1, .send = &send, .recv = &recv};
  sl_exchange *exchange;
  SL_TRY(comm->ops->exchange_create(comm, &spec, &exchange));
  sley_status status = SLEY_OK;
  for (int i = 0; i < 4 && status == SLEY_OK; i++) {
    status = comm->ops->exchange_begin(exchange, src, BYTES, dst, BYTES, comm->queue);
    double begin = sl_now();
    sl_trace_span(sl_trace_of(comm), "local part", begin, sl_now(), 123);
    if (status == SLEY_OK)
      status = comm->ops->exchange_end(exchange, comm->queue);
  }
  comm->ops->exchange_destroy(exchange);
  SL_TRY(status);
  SL_TRY(sley_comm_barrier(comm));
  return arg && comm->rank == 0 ? sl_fail(SLEY_ERR_IO, "no paper") : SLEY_OK;
}

static sley_status run_ring(bool fails) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  options.workgroup = 2;
  options.threads = 1;
  options.trace = path;
  return sley_run_ranks(&options, ring_main, fails ? path : NULL);
}

static void check_ring(json_t *root) {
  for (int rank = 0; rank < RANKS; rank++) {
    assert_int_equal(count_events(root, "M", "thread_name", rank), 1);
    assert_int_equal(count_events(root, "X", "begin ring \"1\"\n\\ ??", rank), 4);
    assert_int_equal(count_events(root, "X", "end ring \"1\"\n\\ ??", rank), 4);
    assert_int_equal(count_events(root, "X", "local part", rank), 4);
    assert_int_equal(count_events(root, "X", "exchange_create", rank), 1);
    assert_int_equal(count_events(root, "X", "barrier", rank), 1);
    assert_int_equal(count_events(root, "b", NULL, rank), 4);
    assert_int_equal(count_events(root, "e", NULL, rank), 4);
    assert_int_equal(count_events(root, "C", NULL, rank), 4);
  }
}

static void test_file_has_all_ranks(void **state) {
  (void)state;
  assert_sley_ok(run_ring(false));
  json_t *root = read_timeline();
  check_ring(root);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "otherData"), "dropped_events")),
                   0);
  json_decref(root);
}

/* Two spans of a rank are apart or one is within the other, but for the rounding of printed nanoseconds. */
static void test_spans_nest(void **state) {
  (void)state;
  assert_sley_ok(run_ring(false));
  json_t *root = read_timeline(), *events = json_object_get(root, "traceEvents");
  size_t count = json_array_size(events), spans = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++) {
      json_t *a = json_array_get(events, i), *b = json_array_get(events, j);
      if (strcmp(text_of(a, "ph"), "X") != 0 || strcmp(text_of(b, "ph"), "X") != 0 ||
          json_integer_value(json_object_get(a, "tid")) != json_integer_value(json_object_get(b, "tid")))
        continue;
      double a0 = json_number_value(json_object_get(a, "ts")),
             b0 = json_number_value(json_object_get(b, "ts"));
      double a1 = a0 + json_number_value(json_object_get(a, "dur")), eps = 0.01;
      double b1 = b0 + json_number_value(json_object_get(b, "dur"));
      bool apart = a1 <= b0 + eps || b1 <= a0 + eps;
      bool nested = (a0 >= b0 - eps && a1 <= b1 + eps) || (b0 >= a0 - eps && b1 <= a1 + eps);
      assert_true(a0 >= 0 && a1 >= a0);
      assert_true(apart || nested);
      spans++;
    }
  assert_true(spans > 0);
  json_decref(root);
}

/* Bytes by link class are those of the lists. */
static void test_flights_have_bytes(void **state) {
  (void)state;
  assert_sley_ok(run_ring(false));
  json_t *root = read_timeline(), *event;
  int64_t direct = 0, message = 0;
  size_t i;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    json_t *args = json_object_get(event, "args");
    if (strcmp(text_of(event, "ph"), "b") == 0) {
      direct += json_integer_value(json_object_get(args, "direct"));
      message += json_integer_value(json_object_get(args, "message"));
    }
    if (strcmp(text_of(event, "name"), "local part") == 0)
      assert_int_equal(json_integer_value(json_object_get(args, "bytes")), 123);
  }
  assert_int_equal(direct, 4 * ROWS * BYTES);      /* 0 -> 1 */
  assert_int_equal(message, 2 * 4 * ROWS * BYTES); /* 1 -> 2, 2 -> 0 */
  json_decref(root);
}

static void test_written_when_ranks_fail(void **state) {
  (void)state;
  unlink(path);
  assert_int_equal(run_ring(true), SLEY_ERR_IO);
  assert_string_equal(sley_last_error(), "rank 0: no paper");
  json_t *root = read_timeline();
  check_ring(root);
  json_decref(root);
}

static sley_status never_main(sley_comm *comm, void *arg) {
  (void)comm;
  *(bool *)arg = true;
  return SLEY_OK;
}

/* Said before the ranks start, not after they have worked. */
static void test_unwritable_file(void **state) {
  (void)state;
  bool ran = false;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.trace = "/nonexistent-folder/t.json";
  assert_int_equal(sley_run_ranks(&options, never_main, &ran), SLEY_ERR_IO);
  assert_non_null(strstr(sley_last_error(), "/nonexistent-folder/t.json"));
  assert_false(ran);
}

/* No memory: events are dropped and counted, the thread's message stays, and later ones are kept again. */
static void test_drops_without_memory(void **state) {
  (void)state;
  sl_trace *trace;
  assert_sley_ok(sl_trace_create(0, &trace));
  sl_fail(SLEY_ERR_ARG, "as before");
  sl_memory_fail_at(1);
  for (int i = 0; i < 5000; i++)
    sl_trace_span(trace, "work", i, i + 0.5, -1);
  sl_memory_fail_at(0);
  assert_string_equal(sley_last_error(), "as before");
  sl_trace *both[2] = {NULL, trace};
  assert_sley_ok(sl_trace_write(path, both, 2));
  json_t *root = read_timeline();
  int dropped =
      (int)json_integer_value(json_object_get(json_object_get(root, "otherData"), "dropped_events"));
  assert_int_equal(dropped, 1);
  assert_int_equal(count_events(root, "X", "work", 0), 5000 - dropped);
  json_decref(root);
  sl_trace_destroy(trace);
  sl_trace_destroy(NULL);
  sl_trace_span(NULL, "nothing", 0, 1, 0);
}

static void test_every_allocation_fails_once(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  sl_memory_fail_at(0);
  assert_sley_ok(run_ring(false));
  int64_t allocations = sl_memory_count();
  for (int64_t n = 1; n <= allocations; n++) {
    sl_memory_fail_at(n);
    sley_status status = run_ring(false);
    assert_true(status == SLEY_ERR_MEMORY || status == SLEY_OK);
    assert_int_equal(sl_memory_now(), before);
  }
  sl_memory_fail_at(0);
}

static int make_file(void **state) {
  (void)state;
  int descriptor = mkstemp(path);
  return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state) {
  (void)state;
  unlink(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file_has_all_ranks),
      cmocka_unit_test(test_spans_nest),
      cmocka_unit_test(test_flights_have_bytes),
      cmocka_unit_test(test_written_when_ranks_fail),
      cmocka_unit_test(test_unwritable_file),
      cmocka_unit_test(test_drops_without_memory),
      cmocka_unit_test(test_every_allocation_fails_once),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
