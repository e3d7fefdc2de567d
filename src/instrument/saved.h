// SPDX-License-Identifier: Apache-2.0
// How a module is serialised: numbers of fixed width, texts preceded by their length and followed
// by a NUL, and a hash of everything at the end, so that corrupt or truncated bytes and those of
// another version are rejected. Raise the version with every change of instrument.h's structures or
// of what probes do. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_SAVED_H
#define GLINT_INSTRUMENT_SAVED_H

#include "instrument.h"

#define SAVE_MAGIC "glntptx1"
enum { SAVE_MAGIC_BYTES = 8, SAVE_VERSION = 34 };

#endif
