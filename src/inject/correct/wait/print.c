// SPDX-License-Identifier: Apache-2.0
// Finds out whether kernels print. Their output appears when the program waits, between lines that
// it prints itself, so in a program with such kernels no wait is left out. Code that prints names
// the function vprintf. Of images with more than MOST_BYTES of code only the first entries are
// examined: those are vendors' libraries.
#include "print.h"

#include <stdlib.h>
#include <string.h>

#include "fatbin/fatbin.h"
#include "owed.h"

enum { MOST_BYTES = 64 << 20 };

static bool prints(const struct fatbin_image *image)
{
    static const char name[] = "vprintf";
    struct base_error error = {0};
    size_t looked_at = 0;
    bool found = false;
    for (size_t i = 0; i < image->entries.count && !found && looked_at < MOST_BYTES; i++) {
        char *text = NULL;
        size_t length = 0;
        looked_at += image->entries.items[i].full_bytes;
        if (fatbin_entry_text(&image->entries.items[i], &text, &length, &error) == BASE_OK)
            found = memmem(text, length, name, sizeof(name) - 1) != NULL;
        free(text);
    }
    return found;
}

void correct_loaded_slowly(const void *memory, const char *path)
{
    struct base_error error = {0};
    struct fatbin_image *image = NULL;
    const enum base_code code = memory ? fatbin_open_memory(memory, &image, &error)
                                       : fatbin_open_file(path, &image, &error);
    if (code == BASE_OK && prints(image))
        correct_never("kernels print");
    fatbin_close(image);
}
