/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, short and long answers over one connection: what passes what, and that all of it arrives. No time
 * decides: the other rank is played here, or is a second mesh, and all take turns in one thread. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "mesh_lines.h"
#include "support.h"

enum { WORD = sizeof(int64_t), HEAD = sizeof(sl_mesh_header) };
enum { LONG = 8 * 1024 * 1024 + 13, BEYOND = LONG + WORD - LONG % WORD, MOST = 3 * SL_OUTBOX_PIECE + 5 };

/* ---- a mesh with memory to ask for */

typedef struct rank {
  sl_mesh *mesh;
  int urgent; /* its entry of the other rank */
  int64_t bytes;
  char *memory;
} rank;

static char byte_of(int who, int64_t i) {
  return (char)(i * 131 + (i >> 8) * 7 + (i >> 16) + who * 29);
}

static void *find(void *owner, uint64_t id, int64_t *bytes, bool *on_host) {
  rank *r = owner;
  *bytes = r->bytes;
  *on_host = true;
  return id == 1 ? r->memory : NULL;
}

static void open_rank(rank *r, int number, const int ends[LINES], int64_t bytes) {
  r->bytes = bytes;
  r->memory = sl_alloc(bytes, 1, "test");
  assert_non_null(r->memory);
  for (int64_t i = 0; i < bytes; i++)
    r->memory[i] = byte_of(number, i);
  assert_sley_ok(mesh_on_lines(number, ends, &r->mesh));
  r->urgent = sl_wire_urgent(r->mesh, 1 - number);
  const sl_mesh_keeper keeper = {.owner = r, .find = find};
  sl_mesh_serve(r->mesh, &keeper);
  assert_sley_ok(sl_mesh_serve_rows(r->mesh));
}

static void close_rank(rank *r) {
  sl_wire_destroy(r->mesh);
  sl_free(r->memory);
}

/* ---- the other rank, byte by byte */

typedef struct player {
  rank r;
  int other[LINES];
  int64_t before;
} player;

static void open_player(player *p) {
  int ends[2][LINES];
  p->before = sl_memory_now();
  assert_true(mesh_lines(ends));
  open_rank(&p->r, 0, ends[0], BEYOND + WORD);
  memcpy(p->other, ends[1], sizeof p->other);
}

static void close_player(player *p) {
  close_rank(&p->r);
  for (int line = 0; line < LINES; line++)
    close(p->other[line]);
  assert_int_equal(sl_memory_now(), p->before);
}

static void say(const player *p, sl_mesh_header header, const void *body) {
  assert_int_equal(send(p->other[URGENT], &header, HEAD, MSG_NOSIGNAL), HEAD);
  if (header.bytes > 0)
    assert_int_equal(send(p->other[URGENT], body, (size_t)header.bytes, MSG_NOSIGNAL), header.bytes);
}

static sl_mesh_header request(sl_mesh_access_kind access, int slot, int64_t bytes, int64_t length) {
  return (sl_mesh_header){.kind = SL_KIND_REQUEST,
                          .access = (uint16_t)access,
                          .slot = (uint16_t)slot,
                          .tag = 1,
                          .bytes = bytes,
                          .length = length};
}

/* Reads so many bytes, while the rank has its turns. */
static void take(player *p, void *into, int64_t bytes) {
  for (char *at = into; bytes > 0;) {
    ssize_t got = recv(p->other[URGENT], at, (size_t)bytes, MSG_DONTWAIT);
    assert_true(got != 0);
    if (got < 0)
      assert_sley_ok(sl_wire_turn(p->r.mesh, 0));
    at += got > 0 ? got : 0;
    bytes -= got > 0 ? got : 0;
  }
}

/* The next header; its body, of at most a piece, goes to body, or nowhere. */
static sl_mesh_header hear(player *p, char *body) {
  sl_mesh_header header;
  static char waste[SL_OUTBOX_PIECE];
  take(p, &header, HEAD);
  assert_true(header.bytes <= SL_OUTBOX_PIECE);
  take(p, body ? body : waste, header.bytes);
  return header;
}

/* The peer asks for much, and the socket is full of the answer. */
static void fill(player *p) {
  say(p, request(SL_MESH_GET, 0, 0, LONG), NULL);
  for (int64_t moved = -1; moved < p->r.mesh->moved;) {
    moved = p->r.mesh->moved;
    assert_sley_ok(sl_wire_turn(p->r.mesh, 0));
  }
  assert_true(p->r.mesh->moved < LONG / 2);
}

static void test_request_passes_answer(void **state) {
  (void)state;
  player p;
  sl_mesh_ask ask;
  char data[WORD];
  open_player(&p);
  fill(&p);
  sl_mesh_ask_access(p.r.mesh, 1, SL_MESH_GET, 7, 0, data, WORD, &ask);
  const int64_t moved = p.r.mesh->moved;
  int64_t answered = 0;
  sl_mesh_header header;
  while ((header = hear(&p, NULL)).kind == SL_KIND_DATA)
    answered += header.bytes;
  assert_int_equal(header.kind, SL_KIND_REQUEST);
  assert_int_equal(header.access, SL_MESH_GET);
  assert_true(answered <= moved + SL_OUTBOX_PIECE); /* the rest of the piece at hand */
  while (answered < LONG)
    answered += hear(&p, NULL).bytes;
  close_player(&p);
}

static void test_short_answer_passes_long_one(void **state) {
  (void)state;
  player p;
  open_player(&p);
  fill(&p);
  const int64_t one = 1;
  int64_t answered = 0;
  char body[SL_OUTBOX_PIECE];
  sl_mesh_header add = request(SL_MESH_ADD, 1, WORD, WORD);
  add.at = BEYOND;
  say(&p, add, &one);
  assert_sley_ok(sl_wire_turn(p.r.mesh, 0)); /* it has read it; the socket takes nothing */
  const int64_t moved = p.r.mesh->moved;
  sl_mesh_header header;
  while ((header = hear(&p, body)).slot == 0) {
    assert_int_equal(header.at, answered);
    assert_int_equal(header.length, LONG);
    assert_memory_equal(body, p.r.memory + answered, header.bytes);
    answered += header.bytes;
  }
  assert_int_equal(header.bytes, WORD);
  for (int i = 0; i < WORD; i++)
    assert_int_equal(body[i], byte_of(0, BEYOND + i));
  assert_true(answered <= moved + SL_OUTBOX_PIECE);
  close_player(&p);
}

/* ---- failure */

/* What goes on of a piece that was begun does not hide the notice. */
static void test_notice_follows_piece(void **state) {
  (void)state;
  player p;
  open_player(&p);
  fill(&p);
  sl_mesh_abort(p.r.mesh, sl_fail(SLEY_ERR_IO, "disk on fire"));
  int64_t answered = 0;
  char body[SL_OUTBOX_PIECE];
  sl_mesh_header header;
  while ((header = hear(&p, body)).kind == SL_KIND_DATA)
    answered += header.bytes;
  assert_int_equal(header.kind, SL_KIND_ABORT);
  assert_true(answered <= p.r.mesh->moved && answered < LONG / 2);
  assert_string_equal(((const sl_error *)(const void *)body)->text, "disk on fire");
  close_player(&p);
}

/* Pieces as no rank sends them, to one that awaits an answer of 100 bytes in slot 0, of which it has had 40.
 */
static void test_wrong_pieces(void **state) {
  (void)state;
  enum { BYTES = 100, HAD = 40, GUARD = 64 };
  static const struct {
    int slot;
    int64_t bytes, at, length;
    const char *what;
  } wrong[] = {
      {0, 60, 0, BYTES, "not what follows"},
      {0, 20, 41, BYTES, "not what follows"},
      {0, 60, 40, 101, "not what follows"},
      {0, 50, 40, 90, "not what follows"},
      {1, 60, 40, BYTES, "nobody has asked"},
      {SL_SLOT_ROWS, 60, 40, BYTES, "nobody has asked"},
      {SL_SLOTS, 60, 40, BYTES, "slot"},
      {UINT16_MAX, 60, 40, BYTES, "slot"},
      {0, 61, 40, BYTES, "length"},
      {0, 0, 40, BYTES, "length"},
      {0, 60, -40, BYTES, "at"},
      {0, 60, 40, -1, "length"},
      {0, 60, INT64_MAX, BYTES, "length"},
      {0, INT64_MAX, 40, INT64_MAX, "length"},
      {0, INT64_MAX, 0, INT64_MAX, "not what follows"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    player p;
    sl_mesh_ask ask;
    char room[GUARD + BYTES + GUARD], body[BYTES] = {0};
    memset(room, 0x5a, sizeof room);
    open_player(&p);
    sl_mesh_ask_access(p.r.mesh, 1, SL_MESH_GET, 7, 0, room + GUARD, BYTES, &ask);
    (void)hear(&p, NULL);
    sl_mesh_header piece = {.kind = SL_KIND_DATA, .tag = SL_TAG_ANSWER, .bytes = HAD, .length = BYTES};
    say(&p, piece, body);
    piece.slot = (uint16_t)wrong[i].slot;
    piece.bytes = 0; /* as much as is sent: say() */
    piece.at = wrong[i].at;
    piece.length = wrong[i].length;
    assert_sley_ok(sl_wire_turn(p.r.mesh, 0));
    assert_int_equal(p.r.mesh->failure.rank, -1);
    piece.bytes = wrong[i].bytes;
    assert_int_equal(send(p.other[URGENT], &piece, HEAD, MSG_NOSIGNAL), HEAD);
    assert_int_equal(send(p.other[URGENT], body, sizeof body, MSG_NOSIGNAL), sizeof body);
    assert_sley_ok(sl_wire_turn(p.r.mesh, 0));
    assert_int_equal(sl_mesh_wait_ask(p.r.mesh, &ask), SLEY_ERR_PEER);
    assert_int_equal(p.r.mesh->failure.rank, 1);
    if (!strstr(sley_last_error(), wrong[i].what))
      fail_msg("case %zu: \"%s\" does not say \"%s\"", i, sley_last_error(), wrong[i].what);
    for (int b = 0; b < (int)sizeof room; b++)
      assert_int_equal(room[b], b >= GUARD && b < GUARD + HAD ? 0 : 0x5a);
    close_player(&p);
  }
}

/* ---- two ranks */

typedef struct two {
  rank r[2];
  int64_t before;
} two;

static void open_two(two *t, int64_t bytes) {
  int ends[2][LINES];
  t->before = sl_memory_now();
  assert_true(mesh_lines(ends));
  for (int i = 0; i < 2; i++)
    open_rank(&t->r[i], i, ends[i], bytes);
}

static void close_two(two *t) {
  for (int i = 0; i < 2; i++)
    close_rank(&t->r[i]);
  assert_int_equal(sl_memory_now(), t->before);
}

static void turn_both(two *t) {
  for (int i = 0; i < 2; i++) {
    assert_sley_ok(sl_wire_turn(t->r[i].mesh, 0));
    assert_int_equal(t->r[i].mesh->failure.rank, -1);
  }
}

/* Both fetch much of each other, the second one only when the first one's answer is under way: both fetch at
 * once. */
static void test_mutual_fetch(void **state) {
  (void)state;
  two t;
  sl_mesh_ask ask[2];
  char *here[2];
  open_two(&t, LONG);
  for (int i = 0; i < 2; i++) {
    here[i] = sl_alloc_zero(LONG, 1, "test");
    assert_non_null(here[i]);
  }
  sl_mesh_ask_access(t.r[0].mesh, 1, SL_MESH_GET, 1, 0, here[0], LONG, &ask[0]);
  while (ask[0].answer.got == 0)
    turn_both(&t);
  assert_true(ask[0].answer.got < LONG / 2);
  sl_mesh_ask_access(t.r[1].mesh, 0, SL_MESH_GET, 1, 0, here[1], LONG, &ask[1]);
  while (!sl_mesh_ask_done(&ask[0]))
    turn_both(&t);
  assert_true(ask[1].answer.got > LONG / 8);
  while (!sl_mesh_ask_done(&ask[1]))
    turn_both(&t);
  for (int i = 0; i < 2; i++)
    assert_memory_equal(here[i], t.r[1 - i].memory, LONG);
  for (int i = 0; i < 2; i++)
    sl_free(here[i]);
  close_two(&t);
}

/* Random accesses both ways. A rank's memory: PARTS parts that are read, as many that the other rank writes,
 * each once, and a word to count in. */
enum { PARTS = 20, PART = MOST + WORD - MOST % WORD, WRITTEN = PARTS * PART, COUNTER = 2 * WRITTEN };

typedef struct one_access {
  sl_mesh_ask ask;
  sl_mesh_access_kind kind;
  int64_t at, bytes;
  _Alignas(8) char data[MOST];
} one_access;

static int64_t length_of(uint64_t draw) {
  static const int64_t lengths[] = {
      0, 1, WORD, 1000, SL_OUTBOX_PIECE - 1, SL_OUTBOX_PIECE, SL_OUTBOX_PIECE + 1, MOST};
  return draw % 3 == 0 ? (int64_t)(draw / 3 % MOST) : lengths[draw / 3 % (sizeof lengths / sizeof *lengths)];
}

static void ask_any(rank *r, int number, int part, uint64_t draw, one_access *a) {
  static const sl_mesh_access_kind kinds[] = {SL_MESH_GET, SL_MESH_GET, SL_MESH_PUT, SL_MESH_ADD,
                                              SL_MESH_FLUSH};
  a->kind = kinds[draw % (sizeof kinds / sizeof *kinds)];
  a->bytes = a->kind == SL_MESH_ADD ? WORD : a->kind == SL_MESH_FLUSH ? 0 : length_of(draw / 8);
  a->at = a->kind == SL_MESH_FLUSH ? 0 : a->kind == SL_MESH_ADD ? COUNTER : part * (int64_t)PART;
  a->at += a->kind == SL_MESH_PUT ? WRITTEN : 0;
  memset(a->data, 0, sizeof a->data);
  for (int64_t i = 0; i < a->bytes && a->kind == SL_MESH_PUT; i++)
    a->data[i] = byte_of(5 + number, i);
  if (a->kind == SL_MESH_ADD)
    a->data[0] = 3;
  sl_mesh_ask_access(r->mesh, 1 - number, a->kind, 1, a->at, a->data, a->bytes, &a->ask);
}

/* What rank `number` has read of the other one, and written there, once a flush is done. */
static void check_accesses(const two *t, int number, const one_access *all) {
  const char *there = t->r[1 - number].memory;
  int64_t sum, adds = 0;
  for (const one_access *a = all; a < all + PARTS; a++) {
    adds += a->kind == SL_MESH_ADD;
    for (int64_t i = 0; i < a->bytes && a->kind == SL_MESH_GET; i++)
      assert_int_equal(a->data[i], byte_of(1 - number, a->at + i));
    for (int64_t i = 0; i < PART && a->kind == SL_MESH_PUT; i++)
      assert_int_equal(there[a->at + i],
                       i < a->bytes ? byte_of(5 + number, i) : byte_of(1 - number, a->at + i));
  }
  memcpy(&sum, there + COUNTER, WORD);
  assert_int_equal(sum, 3 * adds);
}

/* In a random order: asks, and turns of one rank. */
static void work_randomly(two *t, uint64_t seed, one_access *all) {
  int asked[2] = {0, 0};
  for (uint64_t draws = 0; asked[0] < PARTS || asked[1] < PARTS; draws++) {
    const uint64_t draw = sl_random(seed, 1, draws);
    const int number = (int)(draw % 2), part = asked[number];
    if (draw / 2 % 3 > 0 && part < PARTS) {
      ask_any(&t->r[number], number, part, draw / 8, &all[number * PARTS + part]);
      asked[number]++;
    } else {
      assert_sley_ok(sl_wire_turn(t->r[number].mesh, 0));
    }
  }
}

static void test_random_accesses(void **state) {
  (void)state;
  enum { CASES = 8 };
  one_access *all = sl_alloc(2 * PARTS, sizeof *all, "test");
  assert_non_null(all);
  for (uint64_t seed = 0; seed < CASES; seed++) {
    two t;
    sl_mesh_ask flush[2];
    open_two(&t, COUNTER + WORD);
    for (int i = 0; i < 2; i++)
      memset(t.r[i].memory + COUNTER, 0, WORD);
    work_randomly(&t, seed, all);
    for (int i = 0; i < 2; i++)
      sl_mesh_ask_access(t.r[i].mesh, 1 - i, SL_MESH_FLUSH, 1, 0, NULL, 0, &flush[i]);
    for (const one_access *a = all; a < all + 2 * PARTS; a++)
      while (!sl_mesh_ask_done(&a->ask))
        turn_both(&t);
    while (!sl_mesh_ask_done(&flush[0]) || !sl_mesh_ask_done(&flush[1]))
      turn_both(&t);
    for (int i = 0; i < 2; i++)
      check_accesses(&t, i, all + i * PARTS);
    close_two(&t);
  }
  sl_free(all);
}

/* Rows that are more than a piece, beside other answers. */
static void test_rows(void **state) {
  (void)state;
  enum { ROW = 1001, COUNT = 300, ROWS = 500 };
  two t;
  sl_mesh_ask beside;
  open_two(&t, ROW * ROWS);
  sl_mesh_rows *ask = sl_alloc_zero(1, sizeof *ask, "test");
  char *rows = sl_alloc_zero(COUNT, ROW, "test"), *all = sl_alloc_zero(ROWS, ROW, "test");
  assert_true(ask && rows && all);
  for (int i = 0; i < COUNT; i++)
    ask->row[i] = (uint32_t)(i * 7 % ROWS);
  sl_mesh_ask_access(t.r[0].mesh, 1, SL_MESH_GET, 1, 0, all, ROW * ROWS, &beside);
  sl_mesh_ask_rows(t.r[0].mesh, 1, 1, ROW, COUNT, rows, ask);
  while (!ask->answer.done || !sl_mesh_ask_done(&beside))
    turn_both(&t);
  assert_memory_equal(all, t.r[1].memory, ROW * ROWS);
  for (int i = 0; i < COUNT; i++)
    assert_memory_equal(rows + i * ROW, t.r[1].memory + (int64_t)ask->row[i] * ROW, ROW);
  sl_free(all);
  sl_free(rows);
  sl_free(ask);
  close_two(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_request_passes_answer),
      cmocka_unit_test(test_short_answer_passes_long_one),
      cmocka_unit_test(test_notice_follows_piece),
      cmocka_unit_test(test_wrong_pieces),
      cmocka_unit_test(test_mutual_fetch),
      cmocka_unit_test(test_random_accesses),
      cmocka_unit_test(test_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
