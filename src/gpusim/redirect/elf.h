// SPDX-License-Identifier: Apache-2.0
// Finding NVIDIA's static CUDA runtime in an ELF file of the host: its functions by name, the
// constructors that come with it, and how else a file may be tied to the CUDA runtime. It reads
// bytes and changes nothing; it takes no memory, prints nothing and calls nothing but memcmp() and
// its like, because it also runs in a process that is not initialised yet. Internal to src/gpusim.
#ifndef GLINT_GPUSIM_REDIRECT_ELF_H
#define GLINT_GPUSIM_REDIRECT_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A file in memory, 64-bit and little-endian; checked once, so that the rest need not. Borrows.
struct redirect_elf {
    const unsigned char *bytes;
    size_t size_bytes;
    const Elf64_Ehdr *header;
    const Elf64_Phdr *segments;
    size_t segment_count;
    const Elf64_Shdr *sections; // none where they were removed
    size_t section_count;
    const char *section_names; // NUL-terminated as a whole; NULL: none
    size_t section_names_bytes;
};

// A symbol table with its names, NUL-terminated as a whole. count 0: there is none.
struct redirect_symbols {
    const Elf64_Sym *items;
    size_t count;
    const char *names;
    size_t names_bytes;
};

// False where the bytes are no such file. They must be aligned to 8 bytes, as a mapping is.
bool redirect_elf_init(struct redirect_elf *elf, const void *bytes, size_t size_bytes);

const Elf64_Shdr *redirect_elf_section(const struct redirect_elf *elf, const char *name);
// type: SHT_SYMTAB or SHT_DYNSYM.
struct redirect_symbols redirect_elf_symbols(const struct redirect_elf *elf, uint32_t type);
// "" where the symbol has no name that can be read.
const char *redirect_symbol_name(const struct redirect_symbols *symbols, size_t index);
// True for an entry of the dynamic section with that tag; where names_with is not NULL, only for
// one whose string begins with it.
bool redirect_elf_dynamic(const struct redirect_elf *elf, int64_t tag, const char *names_with);

enum redirect_kind {
    REDIRECT_FUNCTION,    // of the runtime's interface: cudaMalloc, __cudaRegisterFatBinary
    REDIRECT_CONSTRUCTOR, // of the runtime's own, run by the loader at start or end
    REDIRECT_INNER,       // within redirect_elf_sites only
};

// A function of the runtime, and how many bytes lie from its start to that of the next function.
struct redirect_site {
    uint64_t address; // as in the file: without the load address
    uint64_t room_bytes;
    const char *name; // in the file's bytes
    enum redirect_kind kind;
};

// How many sites redirect_elf_sites may need room for; 0 where the file cannot have any.
size_t redirect_elf_site_limit(const struct redirect_elf *elf);
// Fills sites, in order of address and one for each address, and returns their count: 0 where the
// static runtime is not in the file, or not to be found there for want of symbols.
size_t redirect_elf_sites(const struct redirect_elf *elf, struct redirect_site *sites,
                          size_t limit);

// The file holds the static runtime, or registers device code with one, without the symbols to find
// its functions by: what `strip` leaves of an executable with the static runtime, with or without
// device code.
bool redirect_elf_is_stripped(const struct redirect_elf *elf);

// NVIDIA's libraries of kernels (cuBLAS, NCCL) hold machine code and a CUDA runtime of their own,
// without symbols. The first that the file names as needed, or the one that a library of this file
// name is: how its name begins. NULL: none.
const char *redirect_elf_vendor_library(const struct redirect_elf *elf);
const char *redirect_vendor_library(const char *path);

// Which runtime's functions these are: 11, 12 or 13. Their interfaces differ in structures and in
// what some names mean.
unsigned redirect_runtime_major(const struct redirect_site *sites, size_t count);

// The file's bytes at an address of it; NULL where they are not all in the file.
const unsigned char *redirect_elf_at(const struct redirect_elf *elf, uint64_t address,
                                     uint64_t size_bytes);

#endif
