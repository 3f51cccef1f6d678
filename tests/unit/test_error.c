/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as data: kept and restored whole, led by their rank once, cut visibly, safe when they come from
 * elsewhere, and the same on every rank that they reach. */
#include "support.h"

#include <limits.h>

#include "transport/transport_registry.h"

enum { LONGEST = SL_ERROR_TEXT - 1, RANKS = 3 };

static void fill(char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    text[i] = (char)('a' + i % 26);
  text[length] = '\0';
}

static void the_rank_leads_once(void **state) {
  (void)state;
  sl_error error;
  assert_int_equal(sl_fail(SLEY_ERR_IO, "no disk"), SLEY_ERR_IO);
  assert_string_equal(sley_last_error(), "no disk");
  assert_int_equal(sley_last_error_rank(), -1);
  sl_error_take(SLEY_ERR_IO, &error);
  assert_int_equal(sl_error_on(3, &error), SLEY_ERR_IO); /* its launcher */
  assert_string_equal(sley_last_error(), "rank 3: no disk");
  assert_int_equal(sley_last_error_rank(), 3);
  assert_int_equal(sl_error_of_peer(3, &error), SLEY_ERR_PEER); /* the other ranks */
  assert_string_equal(sley_last_error(), "rank 3 failed: no disk");
  assert_false(sley_last_error_noticed());
  for (int via = 0; via < 3; via++) { /* from rank to rank, and to the launcher */
    sl_error_take(SLEY_ERR_PEER, &error);
    assert_int_equal(via < 2 ? sl_error_of_peer(via, &error) : sl_error_on(0, &error), SLEY_ERR_PEER);
    assert_string_equal(sley_last_error(), "rank 3 failed: no disk");
    assert_int_equal(sley_last_error_rank(), 3);
  }
  assert_int_equal(sl_fail_peer(1, "it has ended"), SLEY_ERR_PEER);
  assert_string_equal(sley_last_error(), "rank 1 failed: it has ended");
  assert_true(sley_last_error_noticed());
  sl_error_take(SLEY_ERR_PEER, &error);
  sl_error_of_peer(0, &error);
  assert_string_equal(sley_last_error(), "rank 1 failed: it has ended");
  assert_true(sley_last_error_noticed());
  sl_fail_prefix(SLEY_ERR_PEER, "start: ");
  assert_string_equal(sley_last_error(), "rank 1 failed: start: it has ended");
  sl_fail(SLEY_ERR_PEER, "a peer is late");
  assert_int_equal(sley_last_error_rank(), -1);
  assert_false(sley_last_error_noticed());
}

/* All bytes of an error travel, also those after its text: none is left from the stack or from a longer text. */
static void bytes_after_the_text_are_zero(void **state) {
  (void)state;
  sl_error error;
  char text[LONGEST + 1];
  fill(text, LONGEST);
  sl_fail(SLEY_ERR_IO, "%s", text);
  sl_fail(SLEY_ERR_IO, "no disk");
  sl_error_take(SLEY_ERR_IO, &error);
  for (size_t i = strlen("no disk"); i < sizeof error.text; i++)
    assert_int_equal(error.text[i], 0);
}

/* A text that begins with the rank, as one that quotes an error of it does, gets no second prefix. */
static void the_rank_is_not_named_twice(void **state) {
  (void)state;
  sl_error error;
  sl_fail(SLEY_ERR_INPUT, "rank 0: no such row");
  sl_error_take(SLEY_ERR_INPUT, &error);
  assert_int_equal(sl_error_on(0, &error), SLEY_ERR_INPUT);
  assert_string_equal(sley_last_error(), "rank 0: no such row");
  sl_fail(SLEY_ERR_ARG, "rank 0 has a block of 3 rows");
  sl_error_take(SLEY_ERR_ARG, &error);
  assert_int_equal(sl_error_on(0, &error), SLEY_ERR_ARG);
  assert_string_equal(sley_last_error(), "rank 0 has a block of 3 rows");
  sl_fail(SLEY_ERR_ARG, "rank 10 has a block of 3 rows");
  sl_error_take(SLEY_ERR_ARG, &error);
  assert_int_equal(sl_error_on(1, &error), SLEY_ERR_ARG);
  assert_string_equal(sley_last_error(), "rank 1: rank 10 has a block of 3 rows");
}

static void errors_are_kept(void **state) {
  (void)state;
  sl_error kept, other, none;
  sl_fail_peer(7, "its connection was closed");
  sl_error_save(&kept);
  sl_fail(SLEY_ERR_MEMORY, "something else");
  sl_error_save(&other);
  assert_int_equal(sl_error_restore(&kept), SLEY_ERR_PEER);
  assert_string_equal(sley_last_error(), "rank 7 failed: its connection was closed");
  assert_int_equal(sley_last_error_rank(), 7);
  assert_int_equal(sl_error_restore(&other), SLEY_ERR_MEMORY);
  assert_string_equal(sley_last_error(), "something else");
  sl_error_take(SLEY_OK, &none);
  assert_int_equal(none.status, SLEY_OK);
  assert_int_equal(none.rank, -1);
  assert_string_equal(none.text, "");
  sl_error_restore(&none);
  assert_string_equal(sley_last_error(), "");
  sl_error_take(SLEY_ERR_OVERFLOW, &none); /* nobody has written a text */
  assert_string_equal(none.text, "SLEY_ERR_OVERFLOW");
}

static void long_texts_are_cut_visibly(void **state) {
  (void)state;
  char text[4 * SL_ERROR_TEXT];
  sl_error error;
  fill(text, LONGEST);
  sl_fail(SLEY_ERR_IO, "%s", text);
  assert_string_equal(sley_last_error(), text);
  sl_error_take(SLEY_ERR_IO, &error);
  sl_error_of_peer(INT_MAX, &error); /* the prefix takes nothing from it */
  assert_string_equal(sley_last_error() + strlen("rank 2147483647 failed: "), text);
  assert_true(strlen(sley_last_error()) < SLEY_ERROR_BYTES);
  for (size_t more = 1; more < 5; more++) {
    fill(text, LONGEST + more);
    sl_fail(SLEY_ERR_IO, "%s", text);
    assert_int_equal(strlen(sley_last_error()), LONGEST);
    assert_memory_equal(sley_last_error(), text, LONGEST - 3);
    assert_string_equal(sley_last_error() + LONGEST - 3, "...");
  }
  fill(text, LONGEST - 4);
  sl_fail(SLEY_ERR_IO, "%s", text);
  sl_fail_prefix(SLEY_ERR_IO, "file: ");
  assert_int_equal(strlen(sley_last_error()), LONGEST);
  assert_string_equal(sley_last_error() + LONGEST - 3, "...");
}

/* Letters of 2 to 4 bytes at every offset: none is cut in two. */
static void characters_are_not_cut(void **state) {
  (void)state;
  static const char *const letters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  for (size_t l = 0; l < 3; l++)
    for (size_t offset = 0; offset < 4; offset++) {
      const char *letter = letters[l];
      size_t bytes = strlen(letter);
      char text[2 * SL_ERROR_TEXT];
      fill(text, offset);
      while (strlen(text) + bytes < sizeof text - 1)
        strcat(text, letter);
      sl_fail(SLEY_ERR_INPUT, "%s", text);
      const char *message = sley_last_error();
      size_t length = strlen(message);
      assert_in_range(length, LONGEST - bytes, LONGEST);
      assert_string_equal(message + length - 3, "...");
      assert_int_equal((length - 3 - offset) % bytes, 0);
      assert_memory_equal(message, text, length - 3);
    }
}

static void errors_from_elsewhere_are_made_safe(void **state) {
  (void)state;
  sl_error error;
  memset(&error, 0xff, sizeof error);
  error.status = -5;
  error.rank = 4;
  error.text[1] = '\n';
  sl_error_check(&error, 4);
  assert_int_equal(error.status, SLEY_ERR_INTERNAL);
  assert_int_equal(error.rank, -1);
  assert_int_equal(strlen(error.text), LONGEST);
  assert_memory_equal(error.text, "\\xff\\n\\xff", 10);
  error.status = SLEY_ERR_INTERNAL + 1;
  error.rank = 3;
  sl_error_check(&error, 4);
  assert_int_equal(error.status, SLEY_ERR_INTERNAL);
  assert_int_equal(error.rank, 3);
  error.rank = -7;
  sl_error_check(&error, 4);
  assert_int_equal(error.rank, -1);
}

/* What is shown of names: what stays, what is escaped, where a text is cut, and that a second time changes
 * nothing. */
static void names_are_printable(void **state) {
  (void)state;
  static const struct {
    const char *text, *shown;
  } cases[] = {{"", ""},
               {"graph one.mtx", "graph one.mtx"},
               {"a\\b\"c'", "a\\b\"c'"},
               {"a\tb\nc\rd", "a\\tb\\nc\\rd"},
               {"\x1b[31m\x07\x01\x7f", "\\x1b[31m\\a\\x01\\x7f"},
               {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
               {"\xff\xc3(", "\\xff\\xc3("},
               {"\xc2\x9b"
                "31m",
                "\\x9b31m"}, /* one control character in two bytes */
               {"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8", "\\u202e\\u2066\\u2028"}, /* directions, a new line */
               {"\xc0\x8a", "\\xc0\\x8a"},                                        /* longer than it may be */
               {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                               /* half of a pair */
               {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond the last character */
               {"\xe2\x82", "\\xe2\\x82"},                   /* cut off */
               {"\xf0\x9f", "\\xf0\\x9f"}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char out[64], again[64];
    const size_t length = strlen(cases[c].shown);
    assert_int_equal(sley_printable(cases[c].text, NULL, 0), length);
    assert_int_equal(sley_printable(cases[c].text, out, sizeof out), length);
    assert_string_equal(out, cases[c].shown);
    assert_int_equal(sley_printable(out, again, sizeof again), length);
    assert_string_equal(again, out);
    for (size_t room = 1; room <= length; room++) { /* a beginning, which is shown as it is */
      memset(again, 'x', sizeof again);
      assert_int_equal(sley_printable(cases[c].text, again, room), length);
      assert_true(strlen(again) < room);
      assert_memory_equal(again, out, strlen(again));
      assert_int_equal(again[room], 'x');
      assert_int_equal(sley_printable(again, NULL, 0), strlen(again));
    }
  }
}

static sley_status expect(const sl_comm *comm, bool right) {
  return right ? SLEY_OK
               : sl_fail(SLEY_ERR_INTERNAL, "rank %d was told: \"%s\"", comm->rank, sley_last_error());
}

/* The last rank fails with the longest text: all others have it, to the letter. */
static sley_status fail_on_the_last(sl_comm *comm, void *arg) {
  (void)arg;
  char text[SL_ERROR_TEXT], theirs[SLEY_ERROR_BYTES];
  fill(text, LONGEST);
  bool last = comm->rank == RANKS - 1;
  snprintf(theirs, sizeof theirs, "rank %d failed: %s", RANKS - 1, text);
  sley_status status = sl_agree(comm, last ? sl_fail(SLEY_ERR_IO, "%s", text) : SLEY_OK);
  SL_TRY(expect(comm, status == (last ? SLEY_ERR_IO : SLEY_ERR_PEER)));
  SL_TRY(expect(comm, strcmp(sley_last_error(), last ? text : theirs) == 0));
  /* Rank 0 passes on what it was told: it stays the last rank's. */
  status = sl_agree(comm, comm->rank == 0 ? status : SLEY_OK);
  SL_TRY(expect(comm, status == SLEY_ERR_PEER && strcmp(sley_last_error(), theirs) == 0));
  status = sl_agree_alike(comm, last ? sl_fail(SLEY_ERR_INPUT, "%s", text) : SLEY_OK);
  SL_TRY(expect(comm, status == SLEY_ERR_INPUT && strcmp(sley_last_error(), text) == 0));
  return comm->ops->barrier(comm);
}

/* Fails after an agreement: who has started the ranks tells the rank that was first, once. */
static sley_status fail_for_another(sl_comm *comm, void *arg) {
  (void)arg;
  sley_status status = sl_agree(comm, comm->rank == 1 ? sl_fail(SLEY_ERR_IO, "no disk") : SLEY_OK);
  return comm->rank == 1 ? SLEY_OK : status;
}

static void errors_travel_whole(void **state) {
  (void)state;
  static const char *const names[] = {"tcp", "threads"}; /* a process that has had threads forks badly */
  const sl_launch launch = {.ranks = RANKS, .workgroup = RANKS, .threads = 1, .timeout = 20};
  for (size_t i = 0; i < 2; i++) {
    const sl_transport_backend *backend;
    assert_sley_ok(sl_transport_backend_find(names[i], &backend));
    assert_sley_ok(backend->run(&launch, fail_on_the_last, NULL));
    assert_int_equal(backend->run(&launch, fail_for_another, NULL), SLEY_ERR_PEER);
    assert_string_equal(sley_last_error(), "rank 1 failed: no disk");
    assert_int_equal(sley_last_error_rank(), 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_rank_leads_once),    cmocka_unit_test(the_rank_is_not_named_twice),
      cmocka_unit_test(errors_are_kept),        cmocka_unit_test(long_texts_are_cut_visibly),
      cmocka_unit_test(characters_are_not_cut), cmocka_unit_test(errors_from_elsewhere_are_made_safe),
      cmocka_unit_test(names_are_printable),    cmocka_unit_test(errors_travel_whole),
      cmocka_unit_test(bytes_after_the_text_are_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
