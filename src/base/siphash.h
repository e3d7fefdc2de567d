// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 with a result of 128 bits: a keyed hash. Without the key, nobody can compute the hash
// of other bytes, so it detects changes by others, unlike the hashes of libxxhash.
#ifndef GLINT_BASE_SIPHASH_H
#define GLINT_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { BASE_SIPHASH_KEY_BYTES = 16, BASE_SIPHASH_BYTES = 16 };

// Hashes `first`, which may be empty, followed by `second`.
void base_siphash(const unsigned char key[BASE_SIPHASH_KEY_BYTES], const void *first,
                  size_t first_bytes, const void *second, size_t second_bytes,
                  unsigned char hash[BASE_SIPHASH_BYTES]);

#endif
