// SPDX-License-Identifier: Apache-2.0
// The folder of the cache and its secret. Results from the cache become code that the program runs,
// so nothing is taken from a folder or file that another user may have written.
#ifndef GLINT_INJECT_PROBE_CACHE_FOLDER_H
#define GLINT_INJECT_PROBE_CACHE_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/base.h"

// Returns whether only this user can have written it: it belongs to the user, and neither the group
// nor others may write it.
bool probe_cache_is_own(const struct stat *about);

// Opens the folder, which the caller closes, and reads its secret, the key of the entries' hashes.
// With `make`, creates both if they are missing. Returns -1 if there is no cache, or if it must not
// be used.
int probe_cache_open(const char *path, bool make, unsigned char secret[BASE_SIPHASH_KEY_BYTES]);

#endif
