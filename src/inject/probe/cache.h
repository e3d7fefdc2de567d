// SPDX-License-Identifier: Apache-2.0
// A folder of texts that were rewritten in earlier runs.
#ifndef GLINT_INJECT_PROBE_CACHE_H
#define GLINT_INJECT_PROBE_CACHE_H

#include <stddef.h>
#include <stdint.h>

// The folder, to be freed; NULL: there is to be none.
char *probe_cache_folder(void);
// The key of a text as it is rewritten for a GPU, in so many parts.
void probe_cache_key(const char *text, size_t length, unsigned gpu, unsigned parts,
                     uint64_t key[2]);
// An entry, to be freed; NULL: there is none, or it is damaged.
unsigned char *probe_cache_read(const uint64_t key[2], size_t *length);
void probe_cache_write(const uint64_t key[2], const void *bytes, size_t length);

#endif
