// SPDX-License-Identifier: Apache-2.0
// The function that every fuzz target defines. libFuzzer calls it in the fuzz preset, replay.c in
// all others.
#ifndef GLINT_FUZZ_H
#define GLINT_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// Feeds one input to the code under test. Always returns 0; errors crash.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

#endif
