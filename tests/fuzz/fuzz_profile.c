// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as a profile: opens it, reads all of it, and reports on it. SQLite needs a file,
// so the bytes are written to one in memory.
#include "fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include "../profile/reading.h"
#include "report/report.h"

static bool take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

static void write_reports(const char *path, struct base_error *error)
{
    struct profile *profile;
    size_t bytes = 0;
    if (profile_open(path, &profile, error) != BASE_OK)
        return;
    report_text(profile, NULL, &(struct report_choice){.verbose = true},
                &(struct report_style){.width = 80}, take, &bytes, error);
    report_json(profile, NULL, take, &bytes, error);
    profile_close(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[] = "/dev/shm/glint-fuzz-XXXXXX";
    struct base_error error = {0};
    int file = mkstemp(path);
    if (file < 0 || (size_bytes && write(file, data, size_bytes) != (ssize_t)size_bytes))
        abort();
    close(file);
    reading_all(path, &error);
    write_reports(path, &error);
    unlink(path);
    return 0;
}
