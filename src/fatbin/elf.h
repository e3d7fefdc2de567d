// SPDX-License-Identifier: Apache-2.0
// Sections of ELF files, which may be hostile. Inner header of src/fatbin.
#ifndef GLINT_FATBIN_ELF_H
#define GLINT_FATBIN_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FATBIN_ELF_CUDA = 190 };                 // e_machine of cubins
#define FATBIN_COPY_SECTION ".nv_debug_ptx_txt" // of the PTX of a cubin

struct fatbin_elf {
    const unsigned char *bytes;
    size_t length;
    Elf64_Ehdr header;
    uint64_t section_count;
    Elf64_Shdr names; // the section that holds the sections' names
};

bool fatbin_elf_in_range(uint64_t offset, uint64_t bytes, uint64_t length);
// Reads the headers. Returns what is wrong with them, or NULL.
const char *fatbin_elf_open(struct fatbin_elf *file, const unsigned char *bytes, size_t length);
// Returns the section of that number, below section_count.
Elf64_Shdr fatbin_elf_section(const struct fatbin_elf *file, uint64_t index);
bool fatbin_elf_section_is(const struct fatbin_elf *file, const Elf64_Shdr *section,
                           const char *name);

#endif
