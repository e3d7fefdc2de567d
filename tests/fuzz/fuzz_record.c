// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as records of a recorded program: kind (u8), length (u16), the record, and so on.
// The profile that the recorder writes from them must be completely readable.
#include "fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include "../profile/reading.h"
#include "../record/feeding.h"

enum { SLOTS = 1 << 12, HEAD_BYTES = 3 };

static void put_records(struct feeding *feeding, const uint8_t *data, size_t size_bytes)
{
    while (size_bytes >= HEAD_BYTES) {
        const enum event_kind kind = (enum event_kind)(1 + data[0] % (EVENT_KINDS - 1));
        size_t length = data[1] | (size_t)data[2] << 8;
        data += HEAD_BYTES;
        size_bytes -= HEAD_BYTES;
        length = length < size_bytes ? length : size_bytes;
        event_put(feeding->ring, kind, data, length, NULL, 0);
        data += length;
        size_bytes -= length;
        feeding_drain(feeding);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[] = "/dev/shm/glint-fuzz-XXXXXX";
    const struct record_request request = {.overwrite = true, .caches = true};
    struct base_error error = {0};
    int file = mkstemp(path);
    if (file < 0)
        abort();
    close(file);
    struct feeding feeding = feeding_begin(path, SLOTS, &request);
    if (!feeding.session)
        abort();
    put_records(&feeding, data, size_bytes);
    if (!feeding_end(&feeding) || reading_all(path, &error) != BASE_OK)
        abort();
    unlink(path);
    return 0;
}
