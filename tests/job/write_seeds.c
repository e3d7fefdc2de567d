// SPDX-License-Identifier: Apache-2.0
// Writes the first inputs of the fuzz target for job profiles: write_seeds FOLDER. They are `one`,
// of one rank, and `several`, of four ranks that differ, with a rank that is missing and a file
// that is no profile.
#include <unistd.h>

#include "merge/merge.h"
#include "ranks.h"

enum { RANKS = 4, PATH = 512 };

static char names[RANKS + 1][PATH];

static void merge(const char *folder, const char *name, size_t count)
{
    const char *files[RANKS + 1];
    char output[PATH];
    struct merge_result result;
    struct base_error error = {0};
    for (size_t i = 0; i < count; i++)
        files[i] = names[i];
    snprintf(output, sizeof(output), "%s/%s", folder, name);
    ranks_check(
        merge_files(
            &(struct merge_request){
                .files = files, .count = count, .output = output, .force = true, .processes = 1},
            &result, &error),
        &error);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/write_seeds_XXXXXX";
    if (argc != 2 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: write_seeds FOLDER\n");
        return 2;
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        snprintf(names[i], PATH, "%s/rank-%u.glint", folder, i);
        ranks_write(names[i], &(struct ranks_options){.rank = i,
                                                      .ranks = RANKS + 1,
                                                      .calls = 60,
                                                      .factor = i == 1 ? 2 : 1,
                                                      .slowness = i == 2 ? 10 : 1,
                                                      .communicating = true,
                                                      .killed = i == 3});
    }
    snprintf(names[RANKS], PATH, "%s/no-profile.glint", folder);
    FILE *file = fopen(names[RANKS], "w");
    if (!file || fputs("no profile", file) < 0 || fclose(file) != 0)
        return 1;
    merge(argv[1], "one", 1);
    merge(argv[1], "several", RANKS + 1);
    for (uint32_t i = 0; i <= RANKS; i++) {
        static const char *const ends[] = {"", "-wal",
                                           "-shm"}; // the last two of a killed recording
        for (unsigned k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
            struct base_buf path = {0};
            base_buf_printf(&path, "%s%s", names[i], ends[k]);
            unlink(path.text ? path.text : "");
            base_buf_fini(&path);
        }
    }
    return rmdir(folder) == 0 ? 0 : 1;
}
