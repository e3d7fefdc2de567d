// SPDX-License-Identifier: Apache-2.0
// Reads the build id of a file, which identifies the file that ran.
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "record.h"

bool record_build_id(const char *path, char hex[RECORD_BUILD_ID_TEXT])
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    const void *id = NULL;
    const ssize_t bytes = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    const bool good = bytes > 0 && 2 * bytes < RECORD_BUILD_ID_TEXT;
    for (ssize_t i = 0; good && i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)id)[i]);
    elf_end(elf);
    close(file);
    return good;
}
