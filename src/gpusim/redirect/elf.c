// SPDX-License-Identifier: Apache-2.0
// Finds NVIDIA's static CUDA runtime in an ELF file.
//
// The following was observed in executables of nvcc 13.0 for aarch64 and x86_64. libcudart_static.a
// is one object with one .text section, so its functions stay together in an executable. API
// functions are named cuda* and __cuda*. Internal functions are named "libcudart_static_" and 40
// digits, or in older toolkits "__cudart" and a number. In an executable all of them are either
// local, or global and hidden. Two internal functions are in .init_array and one is in .fini_array.
//
// Programs have functions with such names too: nvcc generates __cudaUnregisterBinaryUtil and
// __cudaRegisterLinkedBinary_NAME, and users write functions such as cudaCheck. The name alone
// therefore does not decide. A function with such a name belongs to the runtime if it lies between
// functions that certainly do.
#include "elf.h"

#include <string.h>

#include "base/base.h"

// --- The file ------------------------------------------------------------------------------------

static bool fits(const struct redirect_elf *elf, uint64_t offset, uint64_t count, uint64_t item)
{
    return offset <= elf->size_bytes && count <= (elf->size_bytes - offset) / item;
}

// Returns a string table, or NULL if its last byte is not a NUL: a name could then run past its
// end.
static const char *strings(const struct redirect_elf *elf, uint64_t index, size_t *size_bytes)
{
    *size_bytes = 0;
    if (index == SHN_UNDEF || index >= elf->section_count)
        return NULL;
    const Elf64_Shdr *section = &elf->sections[index];
    if (section->sh_type != SHT_STRTAB || section->sh_size == 0 ||
        !fits(elf, section->sh_offset, section->sh_size, 1))
        return NULL;
    const char *text = (const char *)elf->bytes + section->sh_offset;
    if (text[section->sh_size - 1] != '\0')
        return NULL;
    *size_bytes = section->sh_size;
    return text;
}

bool redirect_elf_init(struct redirect_elf *elf, const void *bytes, size_t size_bytes)
{
    *elf = (struct redirect_elf){.bytes = bytes, .size_bytes = size_bytes};
    const Elf64_Ehdr *header = bytes;
    if (size_bytes < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    elf->header = header;
    if (header->e_phnum && header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phoff % 8 == 0 &&
        fits(elf, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr))) {
        elf->segments = (const Elf64_Phdr *)(elf->bytes + header->e_phoff);
        elf->segment_count = header->e_phnum;
    }
    if (header->e_shnum && header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff % 8 == 0 &&
        fits(elf, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr))) {
        elf->sections = (const Elf64_Shdr *)(elf->bytes + header->e_shoff);
        elf->section_count = header->e_shnum;
        elf->section_names = strings(elf, header->e_shstrndx, &elf->section_names_bytes);
    }
    return true;
}

const Elf64_Shdr *redirect_elf_section(const struct redirect_elf *elf, const char *name)
{
    for (size_t i = 0; elf->section_names && i < elf->section_count; i++) {
        uint32_t at = elf->sections[i].sh_name;
        if (at < elf->section_names_bytes && strcmp(elf->section_names + at, name) == 0)
            return &elf->sections[i];
    }
    return NULL;
}

// Returns the entries of a section, or NULL if the file does not contain them.
static const void *table(const struct redirect_elf *elf, const Elf64_Shdr *section, size_t item,
                         size_t *count)
{
    *count = 0;
    if (section->sh_type == SHT_NOBITS || section->sh_offset % 8 != 0 ||
        !fits(elf, section->sh_offset, section->sh_size, 1))
        return NULL;
    *count = section->sh_size / item;
    return elf->bytes + section->sh_offset;
}

struct redirect_symbols redirect_elf_symbols(const struct redirect_elf *elf, uint32_t type)
{
    struct redirect_symbols found = {0};
    for (size_t i = 0; i < elf->section_count && !found.count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type != type || section->sh_entsize != sizeof(Elf64_Sym))
            continue;
        found.items = table(elf, section, sizeof(Elf64_Sym), &found.count);
        found.names = strings(elf, section->sh_link, &found.names_bytes);
        if (!found.items || !found.names)
            found.count = 0;
    }
    return found;
}

const char *redirect_symbol_name(const struct redirect_symbols *symbols, size_t index)
{
    uint32_t at = symbols->items[index].st_name;
    return at < symbols->names_bytes ? symbols->names + at : "";
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// Calls take() for each entry of the dynamic section with that tag and its string, which is NULL if
// it is not valid, until it returns true. Returns whether it did.
static bool each_dynamic(const struct redirect_elf *elf, int64_t tag,
                         bool (*take)(const char *name, void *context), void *context)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        if (elf->sections[i].sh_type != SHT_DYNAMIC)
            continue;
        size_t count, names_bytes;
        const Elf64_Dyn *entries = table(elf, &elf->sections[i], sizeof(Elf64_Dyn), &count);
        const char *names = strings(elf, elf->sections[i].sh_link, &names_bytes);
        for (size_t k = 0; k < count && entries[k].d_tag != DT_NULL; k++) {
            const bool valid = names && entries[k].d_un.d_val < names_bytes;
            if (entries[k].d_tag == tag &&
                take(valid ? names + entries[k].d_un.d_val : NULL, context))
                return true;
        }
    }
    return false;
}

static bool has_beginning(const char *name, void *context)
{
    const char *const wanted = *(const char *const *)context;
    return !wanted || (name && begins(name, wanted));
}

bool redirect_elf_dynamic(const struct redirect_elf *elf, int64_t tag, const char *names_with)
{
    return each_dynamic(elf, tag, has_beginning, &names_with);
}

const unsigned char *redirect_elf_at(const struct redirect_elf *elf, uint64_t address,
                                     uint64_t size_bytes)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            address - segment->p_vaddr > segment->p_filesz ||
            size_bytes > segment->p_filesz - (address - segment->p_vaddr))
            continue;
        uint64_t inside = address - segment->p_vaddr;
        if (segment->p_offset > UINT64_MAX - inside ||
            !fits(elf, segment->p_offset + inside, size_bytes, 1))
            return NULL;
        return elf->bytes + segment->p_offset + inside;
    }
    return NULL;
}

// --- The runtime in the file ---------------------------------------------------------------------

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Returns whether the symbol is a function with code in the file that is not exported. Exported
// functions, which are global and not hidden, are the program's.
static bool may_be_the_runtimes(const struct redirect_elf *elf, const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_shndx >= elf->section_count ||
        !(elf->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR))
        return false;
    unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    return ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || visibility == STV_HIDDEN ||
           visibility == STV_INTERNAL;
}

static bool kind_by_name(const char *name, enum redirect_kind *kind)
{
    if (begins(name, "libcudart_static_") || begins(name, "_ZN6cudart") ||
        (begins(name, "__cudart") && is_digit(name[8]))) {
        *kind = REDIRECT_INNER;
        return true;
    }
    const char *rest = begins(name, "__") ? name + 2 : name;
    *kind = REDIRECT_FUNCTION;
    return begins(rest, "cuda") && rest[4] >= 'A' && rest[4] <= 'Z';
}

// API functions that every runtime has. Two of them prove that the file contains the runtime; one
// does not, because a program may define it.
static bool is_certain(const char *name)
{
    static const char *const names[] = {
        "__cudaRegisterFatBinary",
        "__cudaUnregisterFatBinary",
        "__cudaRegisterFunction",
        "__cudaRegisterVar",
        "cudaGetLastError",
        "cudaLaunchKernel",
        "cudaDeviceSynchronize",
        "cudaMalloc",
        "cudaMemcpy",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

size_t redirect_elf_site_limit(const struct redirect_elf *elf)
{
    struct redirect_symbols symbols = redirect_elf_symbols(elf, SHT_SYMTAB);
    size_t count = 0;
    enum redirect_kind kind;
    for (size_t i = 0; i < symbols.count; i++) {
        count += may_be_the_runtimes(elf, &symbols.items[i]) &&
                 kind_by_name(redirect_symbol_name(&symbols, i), &kind);
    }
    return count;
}

// Sorts by address. At the same address, API functions precede others, and then the name decides,
// so that the choice among aliases is deterministic.
static bool comes_before(const struct redirect_site *a, const struct redirect_site *b)
{
    if (a->address != b->address)
        return a->address < b->address;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return strcmp(a->name, b->name) < 0;
}

// A Shell sort, because qsort() may allocate memory.
static void sort(struct redirect_site *sites, size_t count)
{
    for (size_t gap = count / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (size_t i = gap; i < count; i++) {
            struct redirect_site moved = sites[i];
            size_t k = i;
            for (; k >= gap && comes_before(&moved, &sites[k - gap]); k -= gap)
                sites[k] = sites[k - gap];
            sites[k] = moved;
        }
    }
}

// Returns the number of sites before the address, including those at the address if `at` is true.
static size_t rank(const struct redirect_site *sites, size_t count, uint64_t address, bool at)
{
    return base_search(0, count, i,
                       sites[i].address < address || (at && sites[i].address == address));
}

// Marks an internal function that the loader calls at start or exit as a constructor.
static void mark_constructor(struct redirect_site *sites, size_t count, uint64_t address)
{
    for (size_t i = rank(sites, count, address, false); i < count && sites[i].address == address;
         i++) {
        if (sites[i].kind == REDIRECT_INNER)
            sites[i].kind = REDIRECT_CONSTRUCTOR;
    }
}

static bool is_array(const Elf64_Shdr *section)
{
    return section->sh_type == SHT_INIT_ARRAY || section->sh_type == SHT_FINI_ARRAY ||
           section->sh_type == SHT_PREINIT_ARRAY;
}

static bool in_an_array(const struct redirect_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (is_array(section) && address >= section->sh_addr &&
            address - section->sh_addr < section->sh_size)
            return true;
    }
    return false;
}

// The arrays hold the addresses themselves, or nothing if the linker left them to relocations. Both
// are read, so it does not matter whether relocations were applied.
static void mark_constructors(const struct redirect_elf *elf, struct redirect_site *sites,
                              size_t count)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        size_t length;
        if (is_array(section)) {
            const uint64_t *entries = table(elf, section, sizeof(*entries), &length);
            for (size_t k = 0; entries && k < length; k++)
                mark_constructor(sites, count, entries[k]);
        }
        if (section->sh_type == SHT_RELA && (section->sh_flags & SHF_ALLOC)) {
            const Elf64_Rela *entries = table(elf, section, sizeof(*entries), &length);
            for (size_t k = 0; entries && k < length; k++) {
                if (in_an_array(elf, entries[k].r_offset))
                    mark_constructor(sites, count, (uint64_t)entries[k].r_addend);
            }
        }
    }
}

// A site's room ends at the next function, or at the end of its section.
static void measure_rooms(const struct redirect_elf *elf, const struct redirect_symbols *symbols,
                          struct redirect_site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sites[i].room_bytes = 0;
        for (size_t k = 0; k < elf->section_count; k++) {
            const Elf64_Shdr *section = &elf->sections[k];
            if ((section->sh_flags & SHF_EXECINSTR) && sites[i].address >= section->sh_addr &&
                sites[i].address - section->sh_addr < section->sh_size)
                sites[i].room_bytes = section->sh_addr + section->sh_size - sites[i].address;
        }
    }
    for (size_t i = 0; i < symbols->count; i++) {
        const Elf64_Sym *symbol = &symbols->items[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
            continue;
        size_t before = rank(sites, count, symbol->st_value, false);
        if (before && symbol->st_value - sites[before - 1].address < sites[before - 1].room_bytes)
            sites[before - 1].room_bytes = symbol->st_value - sites[before - 1].address;
    }
}

size_t redirect_elf_sites(const struct redirect_elf *elf, struct redirect_site *sites, size_t limit)
{
    struct redirect_symbols symbols = redirect_elf_symbols(elf, SHT_SYMTAB);
    size_t count = 0;
    unsigned certain = 0;
    for (size_t i = 0; i < symbols.count && count < limit; i++) {
        const char *name = redirect_symbol_name(&symbols, i);
        enum redirect_kind kind;
        if (may_be_the_runtimes(elf, &symbols.items[i]) && kind_by_name(name, &kind)) {
            certain += kind == REDIRECT_FUNCTION && is_certain(name);
            sites[count++] = (struct redirect_site){
                .address = symbols.items[i].st_value, .name = name, .kind = kind};
        }
    }
    if (certain < 2)
        return 0;
    sort(sites, count);
    mark_constructors(elf, sites, count);
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < count; i++) {
        if (sites[i].kind == REDIRECT_INNER ||
            (sites[i].kind == REDIRECT_FUNCTION && is_certain(sites[i].name))) {
            first = sites[i].address < first ? sites[i].address : first;
            last = sites[i].address > last ? sites[i].address : last;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool wanted = sites[i].kind == REDIRECT_CONSTRUCTOR ||
                      (sites[i].kind == REDIRECT_FUNCTION && sites[i].address >= first &&
                       sites[i].address <= last);
        if (wanted && (!kept || sites[kept - 1].address != sites[i].address))
            sites[kept++] = sites[i];
    }
    measure_rooms(elf, &symbols, sites, kept);
    return kept;
}

static bool has_symbol(const struct redirect_elf *elf, uint32_t type, const char *name)
{
    struct redirect_symbols symbols = redirect_elf_symbols(elf, type);
    for (size_t i = 0; i < symbols.count; i++) {
        if (strcmp(redirect_symbol_name(&symbols, i), name) == 0)
            return true;
    }
    return false;
}

// The identifier with which every version of the runtime requests its primary context from the
// driver. It is stored inverted, so that glint itself is not mistaken for a runtime.
static const unsigned char inverted_mark[] = {0x94, 0x2a, 0x04, 0x93, 0xa4, 0x0b, 0x18, 0xb5,
                                              0x76, 0x78, 0x26, 0xc6, 0xed, 0x02, 0x62, 0x06};

static bool holds_mark(const unsigned char *bytes, uint64_t size_bytes)
{
    unsigned char mark[sizeof(inverted_mark)] = {0};
    for (size_t i = 0; i < sizeof(mark); i++)
        mark[i] = (unsigned char)~inverted_mark[i];
    const unsigned char *end = bytes + size_bytes;
    while ((size_t)(end - bytes) >= sizeof(mark)) {
        bytes = memchr(bytes, mark[0], (size_t)(end - bytes) - sizeof(mark) + 1);
        if (!bytes)
            return false;
        if (memcmp(bytes, mark, sizeof(mark)) == 0)
            return true;
        bytes++;
    }
    return false;
}

static bool is_constant_data(const struct redirect_elf *elf, const Elf64_Shdr *section)
{
    return section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_ALLOC) &&
           !(section->sh_flags & (SHF_WRITE | SHF_EXECINSTR)) &&
           section != redirect_elf_section(elf, ".nv_fatbin") &&
           section != redirect_elf_section(elf, "__nv_relfatbin");
}

// Searches for the runtime's constants, which strip does not remove. Only executables are searched,
// because reading all libraries of a process would take too long.
static bool holds_runtime(const struct redirect_elf *elf)
{
    bool is_executable = false, found = false;
    for (size_t i = 0; i < elf->segment_count; i++)
        is_executable |= elf->segments[i].p_type == PT_INTERP;
    if (!is_executable)
        return false;
    for (size_t i = 0; i < elf->section_count && !found; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        found = is_constant_data(elf, section) &&
                fits(elf, section->sh_offset, section->sh_size, 1) &&
                holds_mark(elf->bytes + section->sh_offset, section->sh_size);
    }
    for (size_t i = 0; i < elf->segment_count && !elf->section_count && !found; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        found = segment->p_type == PT_LOAD && fits(elf, segment->p_offset, segment->p_filesz, 1) &&
                holds_mark(elf->bytes + segment->p_offset, segment->p_filesz);
    }
    return found;
}

bool redirect_elf_is_stripped(const struct redirect_elf *elf)
{
    if (has_symbol(elf, SHT_DYNSYM, "__cudaRegisterFatBinary"))
        return false; // the file uses a shared runtime
    const Elf64_Shdr *wrappers = redirect_elf_section(elf, ".nvFatBinSegment");
    if (wrappers && wrappers->sh_size && !has_symbol(elf, SHT_SYMTAB, "__cudaRegisterFatBinary"))
        return true;
    // A linker makes the runtime functions that the program calls local, and leaves the others
    // global and hidden. Some strip options remove only the local ones.
    struct redirect_symbols symbols = redirect_elf_symbols(elf, SHT_SYMTAB);
    for (size_t i = 0; i < symbols.count; i++) {
        unsigned char info = symbols.items[i].st_info;
        if (ELF64_ST_TYPE(info) == STT_FUNC && ELF64_ST_BIND(info) == STB_LOCAL)
            return false;
    }
    return (wrappers && wrappers->sh_size) || holds_runtime(elf);
}

// The libraries that cmake/standins.cmake makes.
static const char *const standins[] = {
    "libcublas.so.12", "libcublas.so.13", "libcublasLt.so.12", "libcublasLt.so.13",
    "libcufft.so.11",  "libcufft.so.12",  "libcurand.so.10",   "libcusparse.so.12",
};

const char *redirect_standin(size_t index)
{
    return index < sizeof(standins) / sizeof(standins[0]) ? standins[index] : NULL;
}

static bool has_standin(const char *name)
{
    for (size_t i = 0; i < sizeof(standins) / sizeof(standins[0]); i++) {
        if (strcmp(name, standins[i]) == 0)
            return true;
    }
    return false;
}

static bool is_vendor_library(const char *name, void *context)
{
    const char **const found = context;
    *found = name && !has_standin(name) ? base_vendor_library(name) : NULL;
    return *found != NULL;
}

const char *redirect_elf_vendor_library(const struct redirect_elf *elf)
{
    const char *found = NULL;
    return each_dynamic(elf, DT_NEEDED, is_vendor_library, &found) ? found : NULL;
}

unsigned redirect_runtime_major(const struct redirect_site *sites, size_t count)
{
    // Of these versions, only 11 has texture references, and only 12 has the name
    // cudaGetDeviceProperties_v2.
    unsigned major = 13;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(sites[i].name, "cudaBindTexture") == 0)
            return 11;
        if (strcmp(sites[i].name, "cudaGetDeviceProperties_v2") == 0)
            major = 12;
    }
    return major;
}
