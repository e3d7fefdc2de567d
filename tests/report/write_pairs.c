// SPDX-License-Identifier: Apache-2.0
// Writes two versions of a program's profile: write_pairs FOLDER makes old.glint and new.glint. In
// the new one the lines of the source have shifted, and
//   grown      is larger, and copied to twice      fixed   is freed in time, and was not before
//   buffer     is allocated more often in a loop   gone    is missing, and had a finding
//   unnamed    objects stay                        leaked  is new, and is never freed
//   slower<int>, quicker take more and less time   renamed<int> is renamed<float>
// noisy.glint is old.glint with other addresses and numbers, and slightly different times.
#include <string.h>

#include "pairs.h"

enum { MIB = 1 << 20 };

struct version {
    const char *name;
    uint32_t shift; // of lines
    bool is_new;
    uint32_t noise_percent; // of times
};

static uint64_t time_of(const struct version *version, uint64_t ns)
{
    return ns + ns * version->noise_percent / 100;
}

static void write_version(const char *folder, const struct version *version)
{
    struct pair_writer to;
    char path[512];
    const bool is_new = version->is_new;
    const uint32_t shift = version->shift;
    snprintf(path, sizeof(path), "%s/%s.glint", folder, version->name);
    pair_begin(&to, path, "objects,sync");
    to.calls = version->noise_percent; // other numbers and addresses for all that follow
    to.objects = 10 * version->noise_percent;
    const char *file = is_new ? "/moved/src/solve.cu" : "/src/solve.cu";
    const uint32_t slower = pair_kernel(&to, "slower<int>(int*)");
    const uint32_t quicker = pair_kernel(&to, "quicker(float*)");
    const uint32_t renamed =
        pair_kernel(&to, is_new ? "renamed<float, 4>(float*)" : "renamed<int, 4>(int*)");
    const uint32_t launch = pair_path(&to, "solve", file, 50 + shift);
    const uint32_t free_path = pair_path(&to, "finish", file, 90 + shift);

    const uint64_t grown = pair_alloc(&to, "grown", (is_new ? 12 : 8) * (uint64_t)MIB,
                                      pair_path(&to, "setup", file, 10 + shift));
    const uint64_t fixed =
        pair_alloc(&to, "fixed", 4 * MIB, pair_path(&to, "setup", file, 11 + shift));
    const uint64_t one = pair_alloc(&to, NULL, MIB, pair_path(&to, "setup", file, 12 + shift));
    const uint64_t other =
        pair_alloc(&to, NULL, 2 * MIB, pair_path(&to, "setup", file, 13 + shift));
    const uint64_t extra =
        is_new ? pair_alloc(&to, "leaked", 3 * MIB, pair_path(&to, "setup", file, 14 + shift))
               : pair_alloc(&to, "gone", 3 * MIB, pair_path(&to, "setup", file, 20));
    pair_copy(&to, grown, (is_new ? 12 : 8) * (uint64_t)MIB, time_of(version, 200000));
    if (is_new)
        pair_copy(&to, grown, 12 * MIB, time_of(version, 200000));
    pair_copy(&to, fixed, 4 * MIB, time_of(version, 100000));
    pair_launch(&to, slower, fixed, time_of(version, is_new ? 900000 : 600000), launch);
    if (is_new)
        pair_free(&to, fixed, free_path);
    pair_launch(&to, quicker, grown, time_of(version, is_new ? 100000 : 300000), launch);
    pair_launch(&to, renamed, one, time_of(version, 50000), launch);
    pair_launch(&to, renamed, other, time_of(version, 50000), launch);
    pair_launch(&to, renamed, extra, time_of(version, 50000), launch);
    const uint32_t loop = pair_path(&to, "step", file, 60 + shift);
    for (int i = 0; i < (is_new ? 5 : 3); i++) {
        const uint64_t buffer = pair_alloc(&to, "buffer", 1 << 16, loop);
        pair_launch(&to, quicker, buffer, 0, launch);
        pair_free(&to, buffer, free_path);
    }
    pair_wait(&to, time_of(version, 400000), pair_path(&to, "solve", file, 70 + shift));
    pair_free(&to, grown, free_path);
    if (!is_new)
        pair_free(&to, fixed, free_path);
    pair_free(&to, one, free_path);
    pair_free(&to, other, free_path);
    if (!is_new)
        pair_free(&to, extra, free_path);
    pair_end(&to);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: write_pairs FOLDER\n");
        return 2;
    }
    write_version(argv[1], &(struct version){.name = "old"});
    write_version(argv[1], &(struct version){.name = "new", .shift = 7, .is_new = true});
    write_version(argv[1], &(struct version){.name = "noisy", .noise_percent = 5});
    return 0;
}
