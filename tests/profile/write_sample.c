// SPDX-License-Identifier: Apache-2.0
// Writes the sample profile: write_sample FILE; with --unfinished, as a killed recorder leaves it.
#include <stdio.h>
#include <string.h>

#include "sample.h"

static enum base_code write_unfinished(const char *path, struct base_error *error)
{
    struct profile_writer *writer;
    enum base_code code = profile_create(path, true, &writer, error);
    if (code != BASE_OK)
        return code;
    code = sample_add(writer, error);
    profile_abandon(writer);
    return code;
}

int main(int argc, char **argv)
{
    struct base_error error = {0};
    bool unfinished = argc == 3 && strcmp(argv[1], "--unfinished") == 0;
    if (argc != 2 && !unfinished) {
        fprintf(stderr, "usage: write_sample [--unfinished] FILE\n");
        return 2;
    }
    enum base_code code =
        unfinished ? write_unfinished(argv[2], &error) : sample_write(argv[1], &error);
    if (code == BASE_OK)
        return 0;
    char text[1024];
    base_error_text(&error, text, sizeof(text));
    fprintf(stderr, "write_sample: %s\n", text);
    return 1;
}
