// SPDX-License-Identifier: Apache-2.0
// A folder of results that earlier runs have computed.
#ifndef GLINT_INJECT_PROBE_CACHE_H
#define GLINT_INJECT_PROBE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Returns the path of the folder, which the caller frees; NULL: caching is off.
char *probe_cache_folder(void);
// Computes the key of a text, rewritten for a GPU, with clones in so many parts.
void probe_cache_key(const char *text, size_t length, unsigned gpu, unsigned parts, bool maps,
                     uint64_t key[2]);
// Returns an entry, which the caller frees; NULL: there is none, or it is damaged.
unsigned char *probe_cache_read(const uint64_t key[2], size_t *length);
void probe_cache_write(const uint64_t key[2], const void *bytes, size_t length);

#endif
