// SPDX-License-Identifier: Apache-2.0
// Hooks of what can be asked about memory, which corrected programs are told otherwise than by the
// driver (correct_ask.c). They make no records.
#include "call.h"

HOOKED(cuMemGetAddressRange_v2, (CUdeviceptr * start, size_t *bytes, CUdeviceptr address),
       (start, bytes, address), NO_STREAM, {}, {})
HOOKED(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total), NO_STREAM, {},
       {})
HOOKED(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
       (data, attribute, address), NO_STREAM, {}, {})
HOOKED(cuPointerGetAttributes,
       (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address),
       (count, attributes, data, address), NO_STREAM, {}, {})
