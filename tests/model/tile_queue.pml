/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of src/tile/tile_queue.c, as the products that add to tiles of other ranks use them, in all orders
 * in which the steps of their ranks can happen.
 *
 * Each rank sends UPDATES updates to other ranks, in all choices of to whom, and takes what comes. A step is one
 * remote operation: a fetch-and-add, a get. Between any two steps of a rank the others may take any number.
 *
 * Checked: an entry's place is empty when it is written; an update is read before its buffer is filled anew; each
 * update is added once; all ranks come to an end. With -DBROKEN=1 the buffer is given back before it is read, with
 * -DBROKEN=2 the ring has a place too few: both must be found.
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef BUFFERS
#define BUFFERS 1
#endif
#ifndef UPDATES
#define UPDATES 2
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#if BROKEN == 2
#define PLACES (RANKS * BUFFERS - 1)
#else
#define PLACES (RANKS * BUFFERS)
#endif

typedef block {            /* a rank's part of the symmetric memory */
  byte next;               /* the number of the next place */
  byte ring[PLACES];       /* 0: empty; else 1 + source * BUFFERS + buffer */
  bool returned[BUFFERS];  /* others have given a buffer back */
  byte contents[BUFFERS];  /* the update that it holds: 1 + source * UPDATES + number */
}
block memory[RANKS];
byte added[RANKS * UPDATES]; /* how often each update was added */
byte expected[RANKS];        /* updates pushed to a rank; for the end alone */
byte senders = RANKS;        /* ranks that have updates left to push */

/* The next entry, if there is one: read, given back, added. */
inline take() {
  entry = memory[me].ring[taken % PLACES];
  if
  :: entry == 0
  :: else ->
    memory[me].ring[taken % PLACES] = 0; /* a fetch-and-add of -entry */
    taken++;
    source = (entry - 1) / BUFFERS;
    buffer = (entry - 1) % BUFFERS;
#if BROKEN == 1
    memory[source].returned[buffer] = true;
#endif
    update = memory[source].contents[buffer]; /* a get */
    d_step {
      assert(update > 0 && added[update - 1] == 0);
      added[update - 1]++;
      got++;
      update = 0
    }
#if BROKEN != 1
    memory[source].returned[buffer] = true; /* a fetch-and-add */
#endif
    d_step { entry = 0; source = 0; buffer = 0 } /* as if never used: fewer states */
  fi
}

proctype rank(byte me) {
  byte sent = 0, taken = 0, got = 0, free, to, place, entry, source, buffer, update;
  bool in_use[BUFFERS];
  do
  :: sent < UPDATES ->
    /* a buffer, taking what comes while there is none */
    free = 0;
    do
    :: free < BUFFERS && !in_use[free] -> break
    :: free < BUFFERS && in_use[free] && memory[me].returned[free] ->
      memory[me].returned[free] = false;
      break
    :: free < BUFFERS && in_use[free] && !memory[me].returned[free] -> free++
    :: free == BUFFERS ->
      if /* nothing to do until a buffer comes back or an entry comes */
      :: memory[me].ring[taken % PLACES] != 0 -> take()
      :: memory[me].returned[0]
#if BUFFERS > 1
      :: memory[me].returned[1]
#endif
      fi;
      free = 0
    od;
    in_use[free] = true;
    memory[me].contents[free] = 1 + me * UPDATES + sent;
    select(to : 0 .. RANKS - 1);
    atomic {
      place = memory[to].next;
      memory[to].next = place + 1; /* a fetch-and-add */
      expected[to]++
    }
    d_step {
      assert(memory[to].ring[place % PLACES] == 0);
      memory[to].ring[place % PLACES] = 1 + me * BUFFERS + free; /* another fetch-and-add */
      place = 0; to = 0; free = 0
    }
    sent++
  :: sent == UPDATES -> break
  :: memory[me].ring[taken % PLACES] != 0 -> take()
  od;
  senders--;
  /* until all that was pushed here has come: the barrier at the end */
  do
  :: memory[me].ring[taken % PLACES] != 0 -> take()
  :: senders == 0 && got == expected[me] -> break
  od
}

init {
  byte r, u;
  atomic {
    for (r : 0 .. RANKS - 1) { run rank(r) }
  }
  _nr_pr == 1; /* all ranks have ended */
  for (u : 0 .. RANKS * UPDATES - 1) { assert(added[u] == 1) }
}
