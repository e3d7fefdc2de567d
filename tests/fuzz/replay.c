// SPDX-License-Identifier: Apache-2.0
// The main() of a fuzz target in the ordinary test run: gives the target every file of the folders
// named on the command line, and the empty input. It looks for no new inputs; libFuzzer does that.
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

// Runs the target on one file, from a heap block of exactly its size so that ASan sees overruns.
// Returns 0, or -1 if the file cannot be read.
static int replay_file(const char *path, size_t size_bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    uint8_t *data = malloc(size_bytes ? size_bytes : 1);
    int result = data && fread(data, 1, size_bytes, file) == size_bytes ? 0 : -1;
    fclose(file);
    if (result == 0)
        LLVMFuzzerTestOneInput(data, size_bytes);
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    free(data);
    return result;
}

// Runs the target on every file of a folder. Returns how many, or -1 on failure.
static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        return -1;
    }
    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(dir));) {
        char path[4096];
        struct stat status;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof path || stat(path, &status) != 0) {
            fprintf(stderr, "%s/%s: cannot be read\n", folder, entry->d_name);
            count = -1;
        } else if (S_ISREG(status.st_mode)) {
            // Left on the terminal by a crash, this names the culprit.
            fprintf(stderr, "%s\n", entry->d_name);
            count = replay_file(path, (size_t)status.st_size) == 0 ? count + 1 : -1;
        }
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        int count = replay_folder(argv[i]);
        if (count < 0)
            return 1;
        if (count == 0) {
            fprintf(stderr, "%s: no inputs to replay\n", argv[i]);
            return 1;
        }
        printf("%d inputs replayed\n", count);
    }
    return 0;
}
