// SPDX-License-Identifier: Apache-2.0
// Preloaded with libglint-redirect.so into a program that contains NVIDIA's static runtime. Fills
// the runtime's functions with traps, except for the first bytes, which the redirection patches. If
// the program still runs to its end, no code of NVIDIA's runtime has run.
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpusim/redirect/elf.h"
#include "gpusim/redirect/patch.h"

#if defined(__x86_64__)
static const unsigned char trap[] = {0xcc};
#else
static const unsigned char trap[] = {0x00, 0x00, 0x20, 0xd4};
#endif

static void require(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fill: %s\n", what);
        _exit(4);
    }
}

static size_t patched_bytes(const struct redirect_site *sites, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++) {
        if (sites[i].address == address)
            return sites[i].kind == REDIRECT_CONSTRUCTOR ? 4 : REDIRECT_PATCH_BYTES;
    }
    return 0;
}

__attribute__((constructor)) static void fill(void)
{
    int file = open("/proc/self/exe", O_RDONLY);
    struct stat stat;
    require(file >= 0 && fstat(file, &stat) == 0, "cannot open the program");
    const void *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    struct redirect_elf elf;
    require(bytes != MAP_FAILED && redirect_elf_init(&elf, bytes, (size_t)stat.st_size), "no ELF");
    size_t limit = redirect_elf_site_limit(&elf);
    struct redirect_site *sites = calloc(limit, sizeof(*sites));
    require(sites != NULL, "no memory");
    size_t count = redirect_elf_sites(&elf, sites, limit);
    require(count > 0, "the program has no static runtime");
    struct redirect_symbols symbols = redirect_elf_symbols(&elf, SHT_SYMTAB);
    uint64_t bias = _r_debug.r_map->l_addr;
    size_t filled = 0;
    for (size_t i = 0; i < elf.segment_count; i++) {
        const Elf64_Phdr *segment = &elf.segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t first = (bias + segment->p_vaddr) / page * page;
        size_t length = bias + segment->p_vaddr + segment->p_memsz - first;
        require(mprotect((void *)first, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
        for (size_t k = 0; k < symbols.count; k++) {
            const Elf64_Sym *symbol = &symbols.items[k];
            size_t skip = patched_bytes(sites, count, symbol->st_value);
            bool inner = strncmp(redirect_symbol_name(&symbols, k), "libcudart_static_", 17) == 0;
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || (!inner && !skip) ||
                symbol->st_value < segment->p_vaddr ||
                symbol->st_value - segment->p_vaddr >= segment->p_memsz)
                continue;
            for (uint64_t at = skip; at + sizeof(trap) <= symbol->st_size; at += sizeof(trap))
                memcpy((void *)(bias + symbol->st_value + at), trap, sizeof(trap));
            filled++;
        }
        require(mprotect((void *)first, length, PROT_READ | PROT_EXEC) == 0, "mprotect");
        __builtin___clear_cache((char *)first, (char *)first + length);
    }
    free(sites);
    printf("filled %s\n", filled > 1000 ? "over 1000 functions" : "too few functions");
    fflush(stdout);
}
