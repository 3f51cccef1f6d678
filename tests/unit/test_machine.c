/* SPDX-License-Identifier: Apache-2.0 */
/* Machine descriptions: what is read, what is refused and where, and what follows from the figures. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "machine/machine.h"
#include "support.h"

static const char whole[] = "# a machine\n"
                            "name two hosts\n"
                            "device cuda\n"
                            "nodes 2\n"
                            "ranks-per-node 4\n"
                            "threads 3\n"
                            "cores 8\n"
                            "overlap yes\n"
                            "meeting 1e-5\n"
                            "pack-bandwidth 5e9\n"
                            "\n"
                            "stream-bandwidth 8e9 # of a thread\n"
                            "spmm-bandwidth 9e9\n"
                            "memory-bandwidth 40e9\n"
                            "link self 0 7e9\n"
                            "link direct 1e-6 6e9\n"
                            "link message 2e-6 1e9\n"
                            "message message 1000 1e-5\n"
                            "message message 3000 2e-5\n"
                            "spmm 64 1000 4e9\n"
                            "spmm 64 100000 1e9\n"
                            "spmm 256 1000 16e9\n"
                            "store 64 1000 2e9\n"
                            "store 64 100000 8e9\n"
                            "crowded-meeting 2e-5\n"
                            "node-bandwidth 1e8\n"
                            "message self 1000 1e-6\n"
                            "near 64 16e9\n"
                            "fetch message 64 1e-7\n"
                            "fetch message 128 3e-7\n"
                            "gather 64 1000 1e9\n"
                            "gather 64 100000 4e9\n"
                            "windows f32 tensor 1 2 3 4 5 6 0.5 8 7\n"
                            "windows f16 stream 0.5 0 0 0.25 0.125 0 9 0 3\n";

static sley_status parse(const char *text, sl_machine *out) {
  return sl_machine_parse("m", text, strlen(text), out);
}

static void reads_every_key(void **state) {
  (void)state;
  sl_machine m;
  assert_sley_ok(parse(whole, &m));
  assert_string_equal(m.name, "two hosts");
  assert_string_equal(m.device, "cuda");
  assert_int_equal(m.nodes, 2);
  assert_int_equal(m.ranks_per_node, 4);
  assert_int_equal(m.threads, 3);
  assert_int_equal(m.cores, 8);
  assert_true(m.overlaps);
  assert_true(m.meeting == 1e-5 && m.pack_bandwidth == 5e9 && m.stream_bandwidth == 8e9);
  assert_true(m.spmm_bandwidth == 9e9 && m.memory_bandwidth == 40e9);
  assert_true(m.link[SL_LINK_DIRECT].latency == 1e-6 && m.link[SL_LINK_MESSAGE].bandwidth == 1e9);
  assert_int_equal(m.link[SL_LINK_MESSAGE].points, 2);
  assert_int_equal(m.rates, 3);
  assert_int_equal(m.stores, 2);
  assert_true(m.crowded_meeting == 2e-5 && m.node_bandwidth == 1e8);
  assert_int_equal(m.link[SL_LINK_MESSAGE].fetches, 2);
  assert_int_equal(m.gathers, 2);
  const sl_window_model *built_in = &sl_figures_hopper.windows;
  assert_true(m.models_windows && m.windows.of[SL_WINDOWS_F32].tensor[SL_TENSOR_SLAB] == 1);
  assert_true(m.windows.of[SL_WINDOWS_F32].tensor[SL_TENSOR_LOAD + 3] == 5);
  assert_true(m.windows.of[SL_WINDOWS_F32].tensor[SL_TENSOR_FRAGMENT] == 7);
  assert_true(m.windows.of[SL_WINDOWS_F16].stream[SL_STREAM_LOAD + 2] == 0.25);
  assert_true(m.windows.of[SL_WINDOWS_F16].stream[SL_STREAM_WINDOW] == 9);
  assert_memory_equal(&m.windows.of[SL_WINDOWS_TF32], &built_in->of[SL_WINDOWS_TF32], sizeof *built_in->of);
  assert_memory_equal(m.windows.of[SL_WINDOWS_F32].stream, built_in->of[SL_WINDOWS_F32].stream,
                      sizeof built_in->of->stream);
}

/* The text with a line put in place of the line that begins with key ("" to leave it out). */
static void with_line(const char *key, const char *line, char *out, size_t room) {
  const char *at = strstr(whole, key), *end = strchr(at, '\n') + 1;
  snprintf(out, room, "%.*s%s%s", (int)(at - whole), whole, line, end);
}

static void knows_what_moves_meanwhile(void **state) {
  (void)state;
  static const struct {
    const char *line;
    bool overlaps, messages_move;
  } cases[] = {{"overlap no\n", false, false},
               {"overlap yes\n", true, false},
               {"overlap messages\n", false, true},
               {"", false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2048];
    sl_machine m;
    with_line("overlap", cases[i].line, text, sizeof text);
    assert_sley_ok(parse(text, &m));
    assert_int_equal(m.overlaps, cases[i].overlaps);
    assert_int_equal(m.messages_move, cases[i].messages_move);
  }
}

/* A launch and passes of compressed collectives may be missing, one by one; what is written is read again,
 * and replaces figures of a device. */
static void reads_and_writes_passes(void **state) {
  (void)state;
  char text[2048], folder[] = "/tmp/sley_passes_XXXXXX", path[64];
  sl_machine m, again;
  with_line("near 64", "near 64 16e9\nlaunch 4e-6\npass pici 5e9 1e-9\npass sum-own 4e9 0\n", text,
            sizeof text);
  assert_sley_ok(parse(text, &m));
  assert_true(m.pass[SL_PASS_PICI].bandwidth == 5e9 && m.pass[SL_PASS_PICI].kept == 1e-9);
  assert_true(m.pass[SL_PASS_SUM_OWN].bandwidth == 4e9 && m.pass[SL_PASS_SUM_OWN].kept == 0);
  assert_true(m.pass[SL_PASS_COO].bandwidth == 0 && m.pass[SL_PASS_COPY].bandwidth == 0);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m", folder);
  assert_sley_ok(sl_machine_write(&m, path));
  assert_sley_ok(sl_machine_read(path, &again));
  assert_memory_equal(again.pass, m.pass, sizeof m.pass);
  assert_true(again.launch == 4e-6);
  sl_device_figures figures = sl_machine_figures(&again, &sl_figures_hopper);
  assert_true(figures.launch == 4e-6 && figures.memory == sl_figures_hopper.memory);
  again.pass[SL_PASS_COPY].bandwidth = 3e12;
  assert_true(sl_machine_figures(&again, &sl_figures_hopper).memory == 3e12);
  unlink(path);
  rmdir(folder);
}

static void refuses_with_the_line(void **state) {
  (void)state;
  static const struct {
    const char *key, *line, *where, *what;
  } cases[] = {{"nodes 2", "nodes -2\n", "m:4: ", "not a whole number"},
               {"nodes 2", "nodes 99999999999999999999\n", "m:4: ", "out of range"},
               {"nodes 2", "nodes 2 3\n", "m:4: ", "one value"},
               {"nodes 2", "nodes\n", "m:4: ", "one value"},
               {"nodes 2", "nods 2\n", "m:4: ", "no key 'nods'"},
               {"nodes 2", "cores 2\n", "m:7: ", "given twice"},
               {"device", "device tpu\n", "m:3: ", "none of cpu, cuda"},
               {"overlap", "overlap some\n", "m:8: ", "none of no, yes, messages"},
               {"meeting", "meeting 0\n", "m:9: ", "out of range"},
               {"meeting", "meeting nan\n", "m:9: ", "not a number"},
               {"meeting", "meeting 0x10\n", "m:9: ", "not a number"},
               {"meeting", "meeting 1e999\n", "m:9: ", "out of range"},
               {"meeting", "meeting 1e-5s\n", "m:9: ", "not a number"},
               {"meeting", "", "m:33: ", "'meeting' is missing"},
               {"link direct", "", "m:33: ", "link direct"},
               {"link direct", "link direkt 0 1\n", "m:16: ", "no link class"},
               {"link direct", "link direct 0\n", "m:16: ", "takes a class"},
               {"link direct", "link direct 0 0\n", "m:16: ", "out of range"},
               {"message message 3000", "message message 900 1\n", "m:19: ", "must ascend"},
               {"spmm 256", "spmm 64 1000 1e9\n", "m:22: ", "must ascend"},
               {"store 64 100000", "store 64 1000 8e9\n", "m:24: ", "must ascend"},
               {"near 64", "near 64 0 16e9\n", "m:28: ", "takes bytes a row"},
               {"near 64", "near 64 0\n", "m:28: ", "out of range"},
               {"fetch message 128", "fetch message 64 3e-7\n", "m:30: ", "must ascend"},
               {"fetch message 128", "fetch wire 128 3e-7\n", "m:30: ", "no link class"},
               {"fetch message 128", "fetch message 128\n", "m:30: ", "takes a class"},
               {"gather 64 100000", "gather 64 1000 4e9\n", "m:32: ", "must ascend"},
               {"gather 64 100000", "gather 64 0 4e9\n", "m:32: ", "out of range"},
               {"store 64 100000", "store 64 1000\n", "m:24: ", "takes bytes a row"},
               {"windows f16", "windows f32 tensor 1 2 3 4 5 6 0.5 8 7\n", "m:34: ", "given twice"},
               {"windows f16", "windows f64 stream 1 2 3 4 5 6 7 8 9\n", "m:34: ", "none of f32, tf32, f16"},
               {"windows f16", "windows f16 cores 1 2 3 4 5 6 7 8 9\n", "m:34: ", "none of tensor, stream"},
               {"windows f16", "windows f16 stream 1 2 3 4 5 6 7 8\n", "m:34: ", "9 figures"},
               {"windows f16", "windows f16 stream 1 2 3 4 5 6 7 8 -9\n", "m:34: ", "not a number"},
               {"near 64", "pass sum 1e9\n", "m:28: ", "takes a name, a bandwidth"},
               {"near 64", "pass add 1e9 0\n", "m:28: ", "none of nonzeros, pici, coo, decompress, sum"},
               {"near 64", "pass sum 0 0\n", "m:28: ", "out of range"},
               {"near 64", "pass sum 1e9 0\npass sum 1e9 0\n", "m:29: ", "'sum' is given twice"},
               {"name", "name  \n", "m:2: ", "1 to 95 characters"},
               {"name", "", "m:33: ", "'name' is missing"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2048];
    sl_machine m;
    with_line(cases[i].key, cases[i].line, text, sizeof text);
    assert_int_equal(parse(text, &m), SLEY_ERR_INPUT);
    if (strncmp(sley_last_error(), cases[i].where, strlen(cases[i].where)) != 0 ||
        !strstr(sley_last_error(), cases[i].what))
      fail_msg("%s: '%s', expected '%s...%s'", cases[i].line, sley_last_error(), cases[i].where,
               cases[i].what);
  }
}

/* Bytes changed, cut, doubled and swapped at random: never a crash, always a line of message. */
static void survives_damage(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int round = 0; round < 20000; round++) {
    char text[2 * sizeof whole];
    size_t bytes = sizeof whole - 1;
    memcpy(text, whole, bytes);
    for (int change = 0; change < 1 + round % 4; change++) {
      seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
      size_t at = (size_t)(seed >> 33) % (bytes ? bytes : 1);
      switch (seed >> 20 & 3) {
      case 0:
        text[at] = (char)(seed >> 8);
        break;
      case 1:
        bytes = at;
        break;
      case 2:
        memmove(text + at, text + at + 1, bytes - at);
        bytes -= bytes > at;
        break;
      default:
        text[at] = "\n 0#.e-9"[seed >> 10 & 7];
        break;
      }
    }
    char *copy = malloc(bytes + 1); /* exact, so that a sanitizer sees a read beyond */
    char *exact = bytes ? realloc(copy, bytes) : copy;
    memcpy(exact, text, bytes);
    sl_machine m;
    if (sl_machine_parse("m", exact, bytes, &m) == SLEY_OK) {
      double rate = sl_machine_spmm_rate(&m, 128, 5000),
             link = sl_machine_link_seconds(&m, SL_LINK_MESSAGE, 2, 99);
      assert_true(isfinite(rate) && rate > 0 && isfinite(link) && link > 0);
    } else {
      assert_true(strncmp(sley_last_error(), "m:", 2) == 0 && !strchr(sley_last_error(), '\n'));
    }
    free(exact);
  }
}

/* Of rows of 64 bytes. */
static double mixed(const sl_machine *m, double reach, double at_hand, double near) {
  const double bytes[] = {100, 1000}, within[] = {at_hand, near};
  return sl_machine_mixed_rate(m, 64, reach, &(sl_nearness){2, bytes, within});
}

static void interpolates(void **state) {
  (void)state;
  sl_machine m;
  assert_sley_ok(parse(whole, &m));
  assert_true(fabs(sl_machine_link_seconds(&m, SL_LINK_DIRECT, 2, 6e3) - 4e-6) < 1e-12);
  assert_true(fabs(sl_machine_link_seconds(&m, SL_LINK_MESSAGE, 1, 10) - 1e-5) < 1e-12);
  assert_true(fabs(sl_machine_link_seconds(&m, SL_LINK_MESSAGE, 3, 2000) - 4.5e-5) < 1e-12);
  assert_true(fabs(sl_machine_link_seconds(&m, SL_LINK_MESSAGE, 1, 6000) - 4e-5) < 1e-12);
  assert_true(sl_machine_link_seconds(&m, SL_LINK_MESSAGE, 0, 10) == 0);
  assert_true(fabs(sl_machine_spmm_rate(&m, 64, 1) - 4e9) < 1);
  assert_true(fabs(sl_machine_spmm_rate(&m, 64, 1e9) - 1e9) < 1);
  assert_true(fabs(sl_machine_spmm_rate(&m, 1, 1e4) - 2e9) < 1);
  assert_true(fabs(sl_machine_spmm_rate(&m, 128, 1000) - 8e9) < 1);
  assert_true(fabs(sl_machine_spmm_rate(&m, 9999, 1) - 16e9) < 1);
  assert_true(fabs(sl_machine_store_rate(&m, 64, 1e4) - 4e9) < 1);
  assert_true(fabs(sl_machine_pack_seconds(&m, 64, 1e4) - 1e4 / 2e9) < 1e-12);
  assert_true(sl_machine_pack_seconds(&m, 64, 0) == 0);
  assert_true(fabs(sl_machine_fetch_seconds(&m, SL_LINK_MESSAGE, 10, 96) - 2e-6) < 1e-12);
  assert_true(fabs(sl_machine_fetch_seconds(&m, SL_LINK_MESSAGE, 10, 8) - 1e-6) < 1e-12);
  assert_true(sl_machine_fetch_seconds(&m, SL_LINK_MESSAGE, 0, 64) == 0);
  assert_true(fabs(mixed(&m, 1, 1, 1) - 16e9) < 1);
  assert_true(fabs(mixed(&m, 1, 0, 0) - 4e9) < 1);
  assert_true(fabs(mixed(&m, 1, 0.5, 0.5) - 6.4e9) < 1);
  assert_true(fabs(mixed(&m, 1e5, 0.5, 0.5) - 1e9 / (0.5 + 0.5 / 16)) < 1);
  assert_true(fabs(mixed(&m, 1e5, 0.5, 1) - 6.4e9) < 1); /* anywhere in 1000 bytes */
  m.nears = 0;
  assert_true(fabs(mixed(&m, 1, 1, 1) - 4e9) < 1);
  m.gathers = 0; /* as in descriptions of before there were such lines */
  assert_true(fabs(sl_machine_pack_seconds(&m, 64, 3000) - 3e-6) < 1e-12);
  m.link[SL_LINK_MESSAGE].fetches = 0;
  assert_true(fabs(sl_machine_fetch_seconds(&m, SL_LINK_MESSAGE, 30, 100) - 2e-5 - 3e-6) < 1e-12);
  m.stores = m.link[SL_LINK_SELF].points = 0;
  assert_true(sl_machine_store_rate(&m, 64, 1e4) == 8e9);
  assert_true(fabs(sl_machine_pack_seconds(&m, 64, 5e9) - 1) < 1e-9);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  sl_machine m, again;
  char path[] = "/tmp/sley-machine-XXXXXX";
  close(mkstemp(path));
  assert_sley_ok(parse(whole, &m));
  assert_sley_ok(sl_machine_write(&m, path));
  assert_sley_ok(sl_machine_read(path, &again));
  memcpy(again.source, m.source, sizeof m.source);
  assert_memory_equal(&again, &m, sizeof m);
  unlink(path);
  assert_int_equal(sl_machine_read(path, &again), SLEY_ERR_INPUT);
  const sl_machine *built_in[] = {&sl_machine_threads, &sl_machine_h200};
  for (int i = 0; i < 2; i++) {
    assert_sley_ok(sl_machine_write(built_in[i], path));
    assert_sley_ok(sl_machine_read(path, &again));
    assert_true(again.link[SL_LINK_DIRECT].bandwidth == built_in[i]->link[SL_LINK_DIRECT].bandwidth);
    unlink(path);
  }
}

/* A description of a kind of device where it is looked for. */
static void keep(const sl_machine *built_in, const char *name, char *path, size_t room) {
  sl_machine m = *built_in;
  bool named;
  snprintf(m.name, sizeof m.name, "%s", name);
  assert_true(sl_machine_path(m.device, path, room, &named));
  assert_false(named);
  assert_sley_ok(sl_machine_write(&m, path));
}

/* No other test here may look: what is found is looked up once in a process. */
static void finds_one_for_each_device(void **state) {
  (void)state;
  char folder[] = "/tmp/sley-cache-XXXXXX", cores[SL_MACHINE_SOURCE], gpus[SL_MACHINE_SOURCE], sley[64];
  assert_non_null(mkdtemp(folder));
  unsetenv("SLEY_MACHINE");
  setenv("XDG_CACHE_HOME", folder, 1);
  keep(&sl_machine_threads, "cores", cores, sizeof cores);
  keep(&sl_machine_h200, "GPUs", gpus, sizeof gpus);
  assert_string_equal(gpus + strlen(gpus) - 13, ".cuda.machine");
  assert_string_not_equal(cores, gpus);
  const sl_machine *found;
  assert_sley_ok(sl_machine_find(&sl_machine_threads, &found));
  assert_string_equal(found->name, "cores");
  assert_string_equal(found->source, cores);
  assert_sley_ok(sl_machine_find(&sl_machine_h200, &found));
  assert_string_equal(found->name, "GPUs");
  assert_string_equal(found->source, gpus);
  unlink(cores);
  unlink(gpus);
  snprintf(sley, sizeof sley, "%s/sley", folder);
  rmdir(sley);
  rmdir(folder);
}

static void has_a_path_for_each_device(void **state) {
  (void)state;
  char path[SL_MACHINE_SOURCE], short_one[8];
  bool named;
  setenv("XDG_CACHE_HOME", "/cache", 1);
  assert_true(sl_machine_path("cuda", path, sizeof path, &named) && !named);
  assert_memory_equal(path, "/cache/sley/", 12);
  assert_false(sl_machine_path("cuda", short_one, sizeof short_one, &named));
  setenv("XDG_CACHE_HOME", "not absolute", 1);
  setenv("HOME", "/home/x", 1);
  assert_true(sl_machine_path("cpu", path, sizeof path, &named) && !named);
  assert_memory_equal(path, "/home/x/.cache/sley/", 20);
  assert_null(strstr(path, ".cpu"));
  setenv("SLEY_MACHINE", "/some.machine", 1);
  for (int i = 0; sl_device_names[i]; i++) {
    assert_true(sl_machine_path(sl_device_names[i], path, sizeof path, &named) && named);
    assert_string_equal(path, "/some.machine");
  }
  setenv("SLEY_MACHINE", "builtin", 1);
  assert_false(sl_machine_path("cuda", path, sizeof path, &named));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_key),           cmocka_unit_test(knows_what_moves_meanwhile),
      cmocka_unit_test(reads_and_writes_passes),   cmocka_unit_test(refuses_with_the_line),
      cmocka_unit_test(survives_damage),           cmocka_unit_test(interpolates),
      cmocka_unit_test(writes_what_it_reads),      cmocka_unit_test(finds_one_for_each_device),
      cmocka_unit_test(has_a_path_for_each_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
