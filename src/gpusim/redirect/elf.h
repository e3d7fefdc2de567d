// SPDX-License-Identifier: Apache-2.0
// Finds NVIDIA's static CUDA runtime in an ELF file of the host: its functions by name, its
// constructors, and other ways in which the file uses a CUDA runtime. These functions only read the
// given bytes. They allocate nothing, print nothing and call only functions such as memcmp(),
// because they also run in a process that is not initialized yet.
#ifndef GLINT_GPUSIM_REDIRECT_ELF_H
#define GLINT_GPUSIM_REDIRECT_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A 64-bit little-endian file in memory, which must outlive this. redirect_elf_init() checks all
// offsets, so that the other functions need not.
struct redirect_elf {
    const unsigned char *bytes;
    size_t size_bytes;
    const Elf64_Ehdr *header;
    const Elf64_Phdr *segments;
    size_t segment_count;
    const Elf64_Shdr *sections; // section_count 0: the file has none
    size_t section_count;
    const char *section_names; // ends with a NUL; NULL: none
    size_t section_names_bytes;
};

// A symbol table and its names, which end with a NUL. count 0: there is none.
struct redirect_symbols {
    const Elf64_Sym *items;
    size_t count;
    const char *names;
    size_t names_bytes;
};

// Returns false if the bytes are not a 64-bit little-endian ELF file. They must be aligned to 8
// bytes.
bool redirect_elf_init(struct redirect_elf *elf, const void *bytes, size_t size_bytes);

// Returns the section of that name, or NULL.
const Elf64_Shdr *redirect_elf_section(const struct redirect_elf *elf, const char *name);
// type: SHT_SYMTAB or SHT_DYNSYM.
struct redirect_symbols redirect_elf_symbols(const struct redirect_elf *elf, uint32_t type);
// Returns "" if the symbol has no valid name.
const char *redirect_symbol_name(const struct redirect_symbols *symbols, size_t index);
// Returns whether the dynamic section has an entry with that tag and, if names_with is not NULL,
// with a string that begins with it.
bool redirect_elf_dynamic(const struct redirect_elf *elf, int64_t tag, const char *names_with);

enum redirect_kind {
    REDIRECT_FUNCTION,    // an API function: cudaMalloc, __cudaRegisterFatBinary
    REDIRECT_CONSTRUCTOR, // a constructor or destructor of the runtime, called by the loader
    REDIRECT_INNER,       // used inside redirect_elf_sites() only
};

// A function of the runtime.
struct redirect_site {
    uint64_t address;    // in the file, without the load address
    uint64_t room_bytes; // from its start to that of the next function
    const char *name;    // in the file's bytes
    enum redirect_kind kind;
};

// Returns an upper bound for the number of sites; 0 if the file cannot have any.
size_t redirect_elf_site_limit(const struct redirect_elf *elf);
// Fills sites, sorted by address and one for each address, and returns their count. 0 if the file
// does not contain the static runtime, or lacks the symbols to find it.
size_t redirect_elf_sites(const struct redirect_elf *elf, struct redirect_site *sites,
                          size_t limit);

// Returns whether the file contains the static runtime, or registers device code with it, but lacks
// the symbols to find its functions, as after `strip`.
bool redirect_elf_is_stripped(const struct redirect_elf *elf);

// NVIDIA's libraries of kernels (cuBLAS, NCCL) contain machine code and a CUDA runtime without
// symbols. Returns the prefix of the name of the first such library that the file needs and that
// has no stand-in; NULL if there is none.
const char *redirect_elf_vendor_library(const struct redirect_elf *elf);
// Returns the name of the library with this index for which there is a stand-in; NULL past the
// last.
const char *redirect_standin(size_t index);

// Returns the major version of the runtime with these functions: 11, 12 or 13. The versions differ
// in structures and in the meaning of some names.
unsigned redirect_runtime_major(const struct redirect_site *sites, size_t count);

// Returns the file's bytes at an address, or NULL if not all of them are in the file.
const unsigned char *redirect_elf_at(const struct redirect_elf *elf, uint64_t address,
                                     uint64_t size_bytes);

#endif
