/* SPDX-License-Identifier: Apache-2.0 */
/* How two ends of a connection prove to each other that they know the job's secret, without sending it. The
 * listener sends a challenge with a random nonce. The visitor answers with a claim, which states the
 * visitor's identity, has a second nonce and ends in an HMAC over challenge and claim. The listener returns
 * an HMAC over all of these. The HMACs cover the protocol's version, the job, both ranks, the listener's port
 * and the kind of connection, and each side's HMAC begins with a label of its own, so nothing can be
 * replayed, reflected or used elsewhere. Without a secret the key is zero: the messages are still checked,
 * but anybody can make them. The functions here only transform bytes; HMAC-SHA-256, comparison in constant
 * time and random numbers are from libsodium. */
#ifndef SLEY_SOCKET_PROOF_H
#define SLEY_SOCKET_PROOF_H

#include "base/status.h"

enum { SL_SECRET_BYTES = 32, SL_NONCE_BYTES = 32, SL_MAC_BYTES = 32, SL_PROTOCOL = 3 };

typedef struct sl_secret {
  uint8_t key[SL_SECRET_BYTES];
  bool given; /* true: there is a secret; false: the key is zeros */
} sl_secret;

/* The message from listener to visitor. */
typedef struct sl_challenge {
  uint64_t magic; /* constant that also reveals the byte order */
  uint32_t version, spare;
  uint8_t nonce[SL_NONCE_BYTES];
} sl_challenge;

/* Values of claim.kind: the purpose of the connection. */
typedef enum sl_claim_kind {
  SL_CLAIM_HELLO = 1, /* connection to rank 0, with a hello (bootstrap/hello.h) as payload */
  SL_CLAIM_MESSAGES,
  SL_CLAIM_URGENT,
  SL_CLAIM_PULSE
} sl_claim_kind;

/* The message from visitor to listener, followed by the payload. */
typedef struct sl_claim {
  uint64_t magic;
  uint32_t version, kind;
  uint64_t job;
  int32_t from, to; /* ranks */
  int32_t port;     /* port at which the visitor has reached the listener */
  int32_t payload;  /* bytes of the payload */
  uint8_t nonce[SL_NONCE_BYTES];
  uint8_t mac[SL_MAC_BYTES];
} sl_claim;

/* The last message, from listener to visitor. */
typedef struct sl_proof {
  uint64_t magic;
  uint8_t mac[SL_MAC_BYTES];
} sl_proof;

typedef enum sl_claim_verdict {
  SL_CLAIM_PROVEN,
  SL_CLAIM_FOREIGN,  /* not a claim of this program and version, or a claim for another job or listener */
  SL_CLAIM_UNPROVEN, /* a claim for this job and listener that was made without the job's secret */
} sl_claim_verdict;

/* Fills out with random bytes from the operating system. Errors: SLEY_ERR_INTERNAL (libsodium cannot
 * start). */
sley_status sl_random_bytes(void *out, size_t bytes);

/* Makes a random secret. Errors: as sl_random_bytes. */
sley_status sl_secret_make(sl_secret *out);

/* Derives the secret from a text. */
sley_status sl_secret_of_text(const char *text, size_t bytes, sl_secret *out);

sley_status sl_challenge_make(sl_challenge *out);
/* Returns whether the challenge is from this program and version. */
bool sl_challenge_check(const sl_challenge *challenge);

/* Fills in all fields of a claim except kind, job, from, to, port and payload, which the caller has set.
 * payload: claim->payload bytes. */
sley_status sl_claim_make(const sl_secret *secret, const sl_challenge *challenge, const void *payload,
                          sl_claim *claim);
/* Checks a claim. wanted: the required values of job, to, port and payload; its other fields are ignored.
 * message: the claim and wanted->payload bytes. */
sl_claim_verdict sl_claim_check(const sl_secret *secret, const sl_challenge *challenge,
                                const sl_claim *wanted, const void *message);

void sl_proof_make(const sl_secret *secret, const sl_challenge *challenge, const sl_claim *claim,
                   sl_proof *out);
bool sl_proof_check(const sl_secret *secret, const sl_challenge *challenge, const sl_claim *claim,
                    const sl_proof *proof);

#endif
