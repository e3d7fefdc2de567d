// SPDX-License-Identifier: Apache-2.0
// Writes the first input of the fuzz target for records: write_seeds FILE.
#include <stdio.h>

#include "probe_records.h"

static void put(FILE *file, enum event_kind kind, const void *record, size_t bytes,
                const void *more, size_t more_bytes)
{
    const size_t length = bytes + more_bytes;
    fputc((int)kind - 1, file);
    fputc((int)(length & 0xff), file);
    fputc((int)(length >> 8), file);
    fwrite(record, 1, bytes, file);
    fwrite(more, 1, more_bytes, file);
}

int main(int argc, char **argv)
{
    static const struct event_kernel kernel = {.number = 3, .module = 1};
    static const struct event_object object = {
        .number = 7, .address = 4096, .bytes = 400, .kind = EVENT_OBJECT_DEVICE};
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: write_seeds FILE\n");
        return 2;
    }
    put(file, EVENT_KERNEL, &kernel, sizeof(kernel), "_Z3addPfi", 9);
    put(file, EVENT_OBJECT, &object, sizeof(object), "", 0);
    put(file, EVENT_PROBE, &good_probe, sizeof(good_probe), "why not", 7);
    put(file, EVENT_SITE, &good_site, sizeof(good_site), site_texts, sizeof(site_texts));
    put(file, EVENT_ACCESS, &good_access, sizeof(good_access), "", 0);
    put(file, EVENT_TOLD, &good_told, sizeof(good_told), "", 0);
    put(file, EVENT_ACCESS, &object_access, sizeof(object_access), "", 0);
    put(file, EVENT_COUNTS, &good_counts, sizeof(good_counts), "", 0);
    put(file, EVENT_CONTENTS, &good_contents, sizeof(good_contents), &good_field,
        sizeof(good_field));
    put(file, EVENT_STORED, &good_stored, sizeof(good_stored), "", 0);
    put(file, EVENT_WEIGHED, &good_weighed, sizeof(good_weighed), "", 0);
    put(file, EVENT_ACCESSED, &good_accessed, sizeof(good_accessed), "", 0);
    put(file, EVENT_MAP, &good_map, sizeof(good_map), "\1\200", 2);
    return fclose(file) == 0 ? 0 : 1;
}
