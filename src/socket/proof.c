/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and checks the messages of a proof. */
#include "socket/proof.h"

#include <sodium.h>
#include <stddef.h>
#include <string.h>

static const uint64_t MAGIC = UINT64_C(0x32597970656c5379);
static const char VISITOR[16] = "sley visitor", LISTENER[16] = "sley listener", TEXT[16] = "sley secret";

_Static_assert(SL_SECRET_BYTES == crypto_auth_hmacsha256_KEYBYTES, "a secret is a key of the HMAC");
_Static_assert(SL_MAC_BYTES == crypto_auth_hmacsha256_BYTES, "the length of the HMAC");
_Static_assert(sizeof(sl_challenge) == 48 && sizeof(sl_claim) == 104 && sizeof(sl_proof) == 40,
               "messages have no padding");

static sley_status start_sodium(void) {
  return sodium_init() >= 0
             ? SLEY_OK
             : sl_fail(SLEY_ERR_INTERNAL, "libsodium cannot start: the system provides no random numbers");
}

sley_status sl_random_bytes(void *out, size_t bytes) {
  SL_TRY(start_sodium());
  randombytes_buf(out, bytes);
  return SLEY_OK;
}

sley_status sl_secret_make(sl_secret *out) {
  out->given = true;
  return sl_random_bytes(out->key, sizeof out->key);
}

sley_status sl_secret_of_text(const char *text, size_t bytes, sl_secret *out) {
  crypto_auth_hmacsha256_state state;
  SL_TRY(start_sodium());
  crypto_auth_hmacsha256_init(&state, (const unsigned char *)TEXT, sizeof TEXT);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, bytes);
  crypto_auth_hmacsha256_final(&state, out->key);
  out->given = true;
  return SLEY_OK;
}

sley_status sl_challenge_make(sl_challenge *out) {
  *out = (sl_challenge){.magic = MAGIC, .version = SL_PROTOCOL};
  return sl_random_bytes(out->nonce, sizeof out->nonce);
}

bool sl_challenge_check(const sl_challenge *challenge) {
  return challenge->magic == MAGIC && challenge->version == SL_PROTOCOL && challenge->spare == 0;
}

/* Computes the HMAC over the challenge, the claim up to its own HMAC, and the payload. */
static void visitor_mac(const sl_secret *secret, const sl_challenge *challenge, const sl_claim *claim,
                        const void *payload, size_t bytes, uint8_t out[SL_MAC_BYTES]) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, secret->key, sizeof secret->key);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)VISITOR, sizeof VISITOR);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)challenge, sizeof *challenge);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)claim, offsetof(sl_claim, mac));
  crypto_auth_hmacsha256_update(&state, payload, bytes);
  crypto_auth_hmacsha256_final(&state, out);
}

sley_status sl_claim_make(const sl_secret *secret, const sl_challenge *challenge, const void *payload,
                          sl_claim *claim) {
  claim->magic = MAGIC;
  claim->version = SL_PROTOCOL;
  SL_TRY(sl_random_bytes(claim->nonce, sizeof claim->nonce));
  visitor_mac(secret, challenge, claim, payload, (size_t)claim->payload, claim->mac);
  return SLEY_OK;
}

sl_claim_verdict sl_claim_check(const sl_secret *secret, const sl_challenge *challenge,
                                const sl_claim *wanted, const void *message) {
  sl_claim claim;
  uint8_t mac[SL_MAC_BYTES];
  memcpy(&claim, message, sizeof claim);
  bool hello = claim.kind == SL_CLAIM_HELLO,
       line = claim.kind > SL_CLAIM_HELLO && claim.kind <= SL_CLAIM_PULSE;
  if (claim.magic != MAGIC || claim.version != SL_PROTOCOL || claim.job != wanted->job ||
      claim.to != wanted->to || claim.port != wanted->port || claim.payload != wanted->payload ||
      (wanted->payload > 0 ? !hello : !line))
    return SL_CLAIM_FOREIGN;
  visitor_mac(secret, challenge, &claim, (const char *)message + sizeof claim, (size_t)wanted->payload, mac);
  return crypto_verify_32(mac, claim.mac) == 0 ? SL_CLAIM_PROVEN : SL_CLAIM_UNPROVEN;
}

static void listener_mac(const sl_secret *secret, const sl_challenge *challenge, const sl_claim *claim,
                         uint8_t out[SL_MAC_BYTES]) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, secret->key, sizeof secret->key);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)LISTENER, sizeof LISTENER);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)challenge, sizeof *challenge);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)claim, sizeof *claim);
  crypto_auth_hmacsha256_final(&state, out);
}

void sl_proof_make(const sl_secret *secret, const sl_challenge *challenge, const sl_claim *claim,
                   sl_proof *out) {
  out->magic = MAGIC;
  listener_mac(secret, challenge, claim, out->mac);
}

bool sl_proof_check(const sl_secret *secret, const sl_challenge *challenge, const sl_claim *claim,
                    const sl_proof *proof) {
  uint8_t mac[SL_MAC_BYTES];
  listener_mac(secret, challenge, claim, mac);
  return proof->magic == MAGIC && crypto_verify_32(mac, proof->mac) == 0;
}
