/* SPDX-License-Identifier: Apache-2.0 */
/* Work stealing of src/tile/products/claims.c, as products of matrices in tiles use it (src/tile/products/tile_spmm.c, sums.c), in
 * all orders in which the steps of their ranks can happen.
 *
 * Each rank has a stationary tile with TASKS tasks, whose products go to tiles of any ranks, in all choices of to
 * whom. It takes a free buffer, claims a task, its own in order and then those of others, claims a second one ahead
 * if another buffer is free, makes the product, and pushes it. Owners add products in the order of sl_task_place.
 * A step is one remote operation: a compare-and-swap, a get, a buffer given back. A push is one step here, for its
 * parts are those of tile_queue.pml. With LOCAL a rank steals only tasks whose product is for itself. Between runs
 * there is a barrier, and the words of one run are cleared in the one before.
 *
 * Checked: each product is made once and added once, and in a buffer that still holds it; all ranks come to an end.
 * Must be found: with BROKEN=1 a bit is read and then set; with 2 a rank claims without a free buffer; with 3
 * products are added in another order than they are made in; with 4 words are cleared in the run that uses
 * them; with 5 a buffer is given back before it is read.
 */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef BUFFERS
#define BUFFERS 1
#endif
#ifndef RUNS
#define RUNS 1
#endif
#ifndef LOCAL
#define LOCAL 0
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define ALL (RANKS * TASKS)
#define BITS ((1 << TASKS) - 1)
#define NONE 255

typedef block {           /* a rank's part of the symmetric memory */
  byte word[2];           /* a bit for each task of the rank: of this run, and of the next one */
  bool returned[BUFFERS]; /* others have given a buffer back */
  byte contents[BUFFERS]; /* the product that it holds: 1 + its task */
}
block memory[RANKS];
chan queue[RANKS] = [RANKS * BUFFERS] of {byte, byte}; /* a task, and 1 + maker * BUFFERS + buffer */
byte to[ALL];     /* the rank that adds a task's product; task t of rank r is r * TASKS + t */
byte holder[ALL]; /* where a product is that has come there; 0: it has not */
byte made[ALL], added[ALL];
byte ended, opened; /* ranks that have ended the run, and runs that all have ended */

/* The task that stands n-th in the order of adding. */
#if BROKEN == 3
#define PLACED(n) (((n) % RANKS) * TASKS + TASKS - 1 - (n) / RANKS)
#else
#define PLACED(n) (((n) % RANKS) * TASKS + (n) / RANKS)
#endif

/* A product that has come, and all whose turn it is then. */
inline take() {
  d_step {
    queue[me]?task, from;
    assert(holder[task] == 0);
    holder[task] = from
  }
  do
  :: atomic { turn < ALL && to[PLACED(turn)] != me -> turn++ }
  :: turn < ALL && to[PLACED(turn)] == me && holder[PLACED(turn)] != 0 ->
#if BROKEN == 5
    memory[(holder[PLACED(turn)] - 1) / BUFFERS].returned[(holder[PLACED(turn)] - 1) % BUFFERS] = true;
#endif
    d_step { /* a get */
      task = PLACED(turn);
      from = holder[task] - 1;
      assert(memory[from / BUFFERS].contents[from % BUFFERS] == task + 1 && added[task] == 0);
      added[task]++
    }
#if BROKEN != 5
    atomic { /* a fetch-and-add */
      memory[from / BUFFERS].returned[from % BUFFERS] = true;
      turn++
    }
#else
    turn++
#endif
  :: turn == ALL || (to[PLACED(turn)] == me && holder[PLACED(turn)] == 0) -> break
  od;
  atomic { task = 0; from = 0 } /* as if never used: fewer states */
}

/* free: a buffer, from now on in use; BUFFERS: there is none. */
inline find_buffer() {
  free = 0;
  do
  :: atomic { free < BUFFERS && !in_use[free] -> in_use[free] = true }
    break
  :: atomic { free < BUFFERS && in_use[free] && memory[me].returned[free] -> memory[me].returned[free] = false }
    break
  :: atomic { free < BUFFERS && in_use[free] && !memory[me].returned[free] -> free++ }
  :: free == BUFFERS -> break
  od
}

/* The same, taking what comes while there is none. */
inline wait_for_buffer() {
  do
  :: find_buffer();
    if
    :: free < BUFFERS -> break
    :: free == BUFFERS && nempty(queue[me]) -> take()
    :: free == BUFFERS && memory[me].returned[0]
#if BUFFERS > 1
    :: free == BUFFERS && memory[me].returned[1]
#endif
    fi
  od
}

/* Whether this rank may take the task at that place of its owner. */
#if LOCAL
#define MAY(owner, place) ((owner) == me || to[(owner) * TASKS + (place)] == me)
#else
#define MAY(owner, place) true
#endif

/* which: a task that this rank has claimed; NONE: there is none left. */
inline claim(which) {
  which = NONE;
  do
  :: passed == RANKS -> break
  :: passed < RANKS ->
    atomic {
      whose = (me + passed) % RANKS;
      place = 0;
      do
      :: place < TASKS && ((seen >> place) & 1 || !MAY(whose, place)) -> place++
      :: place == TASKS || !((seen >> place) & 1 || !MAY(whose, place)) -> break
      od
    }
    if
    :: place == TASKS -> d_step { passed++; seen = 0 }
    :: else ->
#if BROKEN == 1
      found = memory[whose].word[round % 2];
      if
      :: found == seen -> memory[whose].word[round % 2] = seen | (1 << place)
      :: else
      fi;
#else
      d_step { /* a compare-and-swap */
        found = memory[whose].word[round % 2];
        if
        :: found == seen -> memory[whose].word[round % 2] = seen | (1 << place)
        :: else
        fi
      }
#endif
      if
      :: found == seen ->
        d_step { which = whose * TASKS + place; seen = seen | (1 << place) }
        break
      :: else -> seen = found
      fi
    fi
  od;
  atomic { whose = 0; place = 0; found = 0 }
}

/* The next task, and the buffer that its product is made in. */
inline next_claim(which, buffer) {
#if BROKEN == 2
  claim(which);
#else
  if
  :: free < BUFFERS -> claim(which); buffer = free
  :: else -> which = NONE
  fi;
  if
  :: free < BUFFERS && which == NONE -> in_use[free] = false; buffer = 0 /* put back */
  :: else
  fi;
#endif
  free = 0
}
#if BROKEN == 2
#define WAIT_TO_CLAIM
#define TRY_TO_CLAIM
#else
#define WAIT_TO_CLAIM wait_for_buffer()
#define TRY_TO_CLAIM find_buffer()
#endif

proctype rank(byte me) {
  byte round = 1, passed, seen, turn, task, from, free, whose, place, found;
  byte now, now_buffer, next, next_buffer;
  bool in_use[BUFFERS];
  do
  :: round <= RUNS ->
#if BROKEN == 4
    memory[me].word[round % 2] = 0;
#else
    memory[me].word[(round + 1) % 2] = 0;
#endif
    WAIT_TO_CLAIM;
    next_claim(now, now_buffer);
    do
    :: now == NONE -> break
    :: now != NONE ->
      TRY_TO_CLAIM;
      next_claim(next, next_buffer);
#if BROKEN == 2
      wait_for_buffer();
      now_buffer = free;
#endif
      d_step {
        made[now]++;
        assert(made[now] == 1);
        memory[me].contents[now_buffer] = 1 + now;
        free = 0
      }
      d_step {
        assert(nfull(queue[to[now]]));
        queue[to[now]]!now, 1 + me * BUFFERS + now_buffer
      }
      do
      :: nempty(queue[me]) -> take()
      :: empty(queue[me]) -> break
      od;
      if
      :: next == NONE -> WAIT_TO_CLAIM; next_claim(next, next_buffer)
      :: else
      fi;
      atomic { now = next; now_buffer = next_buffer; next = 0; next_buffer = 0 }
    od;
    /* until all products for this rank have come */
    do
    :: atomic { turn < ALL && to[PLACED(turn)] != me -> turn++ }
    :: turn < ALL && to[PLACED(turn)] == me && nempty(queue[me]) -> take()
    :: turn == ALL -> break
    od;
    /* the barrier, where the last rank looks whether all is as it should be */
    atomic {
      passed = 0; seen = 0; turn = 0; now = 0;
      ended++;
      if
      :: ended == RANKS ->
        do
        :: task < ALL ->
          assert(made[task] == 1 && added[task] == 1);
          made[task] = 0; added[task] = 0; holder[task] = 0;
          task++
        :: task == ALL -> break
        od;
        task = 0;
        ended = 0;
        opened = round
      :: else
      fi
    }
    opened == round;
    round++
  :: round > RUNS -> break
  od
}

init {
  byte n, whom;
  atomic {
    for (n : 0 .. ALL - 1) { select(whom : 0 .. RANKS - 1); to[n] = whom }
    whom = 0;
    for (n : 0 .. RANKS - 1) { run rank(n) }
  }
}
