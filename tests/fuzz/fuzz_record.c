// SPDX-License-Identifier: Apache-2.0
// Any bytes as records of a watched program: kind (u8), length (u16), the record, and so on. The
// profile that the recorder makes of them can be read to its end, whatever they are.
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../profile/reading.h"
#include "record/session.h"

enum { SLOTS = 1 << 12, HEAD_BYTES = 3 };

static void put_records(struct event_ring *ring, struct session *session, const uint8_t *data,
                        size_t size_bytes)
{
    const struct event_process process = {.version = EVENT_VERSION, .pid = 1};
    event_put(ring, EVENT_PROCESS, &process, sizeof(process), NULL, 0);
    while (size_bytes >= HEAD_BYTES) {
        const enum event_kind kind = (enum event_kind)(1 + data[0] % (EVENT_KINDS - 1));
        size_t length = data[1] | (size_t)data[2] << 8;
        data += HEAD_BYTES;
        size_bytes -= HEAD_BYTES;
        length = length < size_bytes ? length : size_bytes;
        event_put(ring, kind, data, length, NULL, 0);
        data += length;
        size_bytes -= length;
        session_drain(session, UINT32_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[] = "/dev/shm/glint-fuzz-XXXXXX";
    const struct record_request request = {.overwrite = true};
    struct base_error error = {0};
    struct record_profile out = {0};
    const size_t bytes = event_ring_bytes(SLOTS);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = mkstemp(path);
    if (file < 0 || memory == MAP_FAILED)
        abort();
    close(file);
    struct event_ring *ring = event_ring_make(memory, bytes);
    struct session *session = session_open(ring, bytes, getpid(), path, &request);
    if (!session)
        abort();
    put_records(ring, session, data, size_bytes);
    session_close(session, PROFILE_EXITED, 0, &out);
    if (out.error.code != BASE_OK || reading_all(path, &error) != BASE_OK)
        abort();
    free(out.path);
    unlink(path);
    return 0;
}
