// SPDX-License-Identifier: Apache-2.0
// libglint-redirect.so, which LD_PRELOAD loads ahead of a program. It redirects every function of
// NVIDIA's static CUDA runtime, in the program or in one of its libraries, to the function of the
// same name in glint's libcudart, which lies in the same folder. No code of NVIDIA's runtime runs:
// its API functions jump away at their first instruction, and its constructors and destructors
// return at once. In NVRTC, the functions that hand out a cubin are redirected to those that hand
// out PTX. In programs without either this library does nothing.
//
// When it patches. The library is linked with -z initfirst, so its constructor runs before any
// constructor of the program or its libraries registers device code. Only a program's
// .preinit_array runs earlier, and neither nvcc nor its runtime uses one. For libraries that are
// opened later, the library hooks the loader's r_debug.r_brk function, which exists for debuggers.
// The loader calls it when new objects are mapped and none of their code has run. Interposing on
// dlopen() was rejected: it returns only after the constructors have run, and its search path
// depends on the caller.
//
// How it patches. libc is not initialized at that time. The code therefore allocates only with
// mmap, prints only with write, and does not load libcudart yet. A redirected function jumps
// through its slot. The first call loads libcudart and looks up the function; later calls jump
// directly to it.
//
// A failure is reported on stderr and ends the program with glint's exit status 125. Continuing
// would run NVIDIA's runtime on a driver that it does not know.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "elf.h"
#include "entry.h"
#include "patch.h"

#if defined(__x86_64__)
#define MACHINE     REDIRECT_X86_64
#define ELF_MACHINE EM_X86_64
#define NEAR_BYTES  UINT64_C(0x7f000000) // the reach of a jump, less a margin
#else
#define MACHINE     REDIRECT_AARCH64
#define ELF_MACHINE EM_AARCH64
#define NEAR_BYTES  UINT64_C(0x7f00000)
#endif

enum {
    OWN_FAILURE = 125,
    NOT_SUPPORTED = 801, // cudaErrorNotSupported
    MOST_OBJECTS = 4096,
    NEAR_STEP_BYTES = 1 << 16, // a multiple of every page size in use
};

// The target of a redirected function. The machine code reads `target` at offset 0.
struct redirect_slot {
    void *_Atomic target; // redirect_bind_entry until the first call; any thread may write it
    const char *name;
    unsigned runtime; // major version of libcudart: 11, 12, 13
    atomic_bool told; // the message that the function is missing was printed
};

// An object that was examined. The loader's lock guards the list: the loader holds it at both uses.
struct loaded_object {
    const struct link_map *map;
    const void *dynamic;
};

// All mutable state of the library.
static struct {
    char folder[4096]; // of this library, with a slash at its end
    const char *program;
    struct loaded_object seen[MOST_OBJECTS];
    size_t seen_count;
    bool told_full, told_vendor;
} state;

// --- Messages ------------------------------------------------------------------------------------

// Prints up to three texts as one line on stderr, in one write so that the line stays whole.
static void say(const char *first, const char *second, const char *third)
{
    const char *const texts[] = {"glint: ", first, second, third, "\n"};
    char line[8192]; // two paths fit
    size_t used = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (const char *at = texts[i]; *at && used < sizeof(line); at++)
            line[used++] = *at;
    }
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored; // a failure cannot be reported anywhere else
}

// --- Calls of redirected functions ---------------------------------------------------------------

static const char *library_name(unsigned runtime)
{
    switch (runtime) {
    case 11: return "libcudart.so.11.0";
    case 12: return "libcudart.so.12";
    default: return "libcudart.so.13";
    }
}

// Several threads may bind the same slot at the same time; they find the same function.
void redirect_bind(struct redirect_slot *slot)
{
    char path[sizeof(state.folder) + 32];
    size_t used = strlen(state.folder);
    memcpy(path, state.folder, used);
    memcpy(path + used, library_name(slot->runtime), strlen(library_name(slot->runtime)) + 1);
    // Never closed: the loader counts references and returns the same library every time.
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say("the simulated GPU's runtime cannot be loaded: ", dlerror(), "");
        _exit(OWN_FAILURE);
    }
    void *function = dlsym(library, slot->name);
    if (!function) {
        void (*entry)(void) = redirect_missing_entry;
        memcpy(&function, &entry, sizeof(function));
    }
    atomic_store_explicit(&slot->target, function, memory_order_release);
}

// The result of functions that glint's runtime lacks. Most return an error code, but a function
// that returns a pointer must return NULL.
long redirect_missing(struct redirect_slot *slot)
{
    static const char *const pointers[] = {"cudaGetErrorString", "cudaGetErrorName",
                                           "__cudaRegisterFatBinary"};
    if (!atomic_exchange(&slot->told, true))
        say(slot->name, " is not supported by the simulated GPU", "");
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        if (strcmp(slot->name, pointers[i]) == 0)
            return 0;
    }
    return NOT_SUPPORTED;
}

// --- Patching ------------------------------------------------------------------------------------

static void *pages(size_t size_bytes)
{
    void *memory =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void fail(const char *file, const char *why)
{
    say(file, ": the CUDA runtime in it cannot be redirected to the simulated GPU: ", why);
    _exit(OWN_FAILURE);
}

// Maps memory that a jump from every address between first and last can reach. Returns NULL if
// there is none.
static unsigned char *pages_near(uint64_t first, uint64_t last, size_t size_bytes)
{
    const uint64_t step = NEAR_STEP_BYTES;
    uint64_t low = first / step * step, high = last / step * step + step;
    for (int upwards = 0; upwards <= 1;
         upwards++) { // above last only as a second choice: a program's heap grows there
        for (uint64_t away = step; away < NEAR_BYTES; away += step) {
            uint64_t at =
                upwards ? high + away : low - away - (size_bytes + step - 1) / step * step;
            if (upwards ? at + size_bytes - first > NEAR_BYTES : at > low || last - at > NEAR_BYTES)
                break;
            void *memory = mmap((void *)at, size_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (memory == (void *)at)
                return memory;
            if (memory != MAP_FAILED) // an old kernel treats the address as a hint
                munmap(memory, size_bytes);
        }
    }
    return NULL;
}

static void flush(unsigned char *from, size_t size_bytes)
{
    __builtin___clear_cache((char *)from, (char *)from + size_bytes);
}

// The functions found in one object, while the object is patched.
struct work {
    const char *file; // for messages
    uint64_t bias;    // load address: the difference between addresses in memory and in the file
    const struct redirect_site *sites;
    size_t site_count;
    struct redirect_slot *slots; // one for each site; those of constructors are unused
    unsigned char *island;       // code for functions too short to hold it; filled in order
    size_t island_used;
};

static bool needs_island(const struct redirect_site *site)
{
    unsigned char code[REDIRECT_PATCH_BYTES];
    return site->kind == REDIRECT_FUNCTION &&
           site->room_bytes < redirect_patch_slot(MACHINE, 0, code);
}

static void patch_site(struct work *work, size_t index)
{
    const struct redirect_site *site = &work->sites[index];
    uint64_t at = work->bias + site->address;
    uint64_t slot = (uint64_t)&work->slots[index];
    unsigned char code[REDIRECT_PATCH_BYTES];
    size_t length;
    if (site->kind == REDIRECT_CONSTRUCTOR) {
        length = redirect_patch_return(MACHINE, code);
    } else if (!needs_island(site)) {
        length = redirect_patch_slot(MACHINE, slot, code);
    } else {
        unsigned char *stop = work->island + work->island_used;
        work->island_used += REDIRECT_PATCH_BYTES;
        redirect_patch_slot(MACHINE, slot, stop);
        length = redirect_patch_jump(MACHINE, at, (uint64_t)stop, code);
    }
    if (length == 0 || length > site->room_bytes)
        fail(work->file, "a function of it is too short");
    memcpy((void *)at, code, length);
    flush((void *)at, length);
}

// A page is never writable and executable at once. No code of the object runs meanwhile, because
// its constructors have not run yet.
static void patch_segment(struct work *work, const Elf64_Phdr *segment)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = (work->bias + segment->p_vaddr) / page * page;
    uint64_t size_bytes = work->bias + segment->p_vaddr + segment->p_memsz - first;
    bool writable = false;
    for (size_t i = 0; i < work->site_count; i++) {
        uint64_t address = work->sites[i].address;
        if (address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_memsz)
            continue;
        if (!writable && mprotect((void *)first, size_bytes, PROT_READ | PROT_WRITE) != 0)
            fail(work->file, "the system does not let its code be changed");
        writable = true;
        patch_site(work, i);
    }
    if (writable && mprotect((void *)first, size_bytes, PROT_READ | PROT_EXEC) != 0)
        fail(work->file, "the system does not let changed code run");
}

// Allocates the slots, followed by copies of their names, because the file does not stay mapped.
static void make_slots(struct work *work)
{
    size_t names_bytes = 0, shorts = 0;
    for (size_t i = 0; i < work->site_count; i++) {
        names_bytes += strlen(work->sites[i].name) + 1;
        shorts += needs_island(&work->sites[i]);
    }
    work->slots = pages(work->site_count * sizeof(struct redirect_slot) + names_bytes);
    if (!work->slots)
        fail(work->file, "out of memory");
    void (*entry)(void) = redirect_bind_entry;
    void *target;
    memcpy(&target, &entry, sizeof(target));
    unsigned runtime = redirect_runtime_major(work->sites, work->site_count);
    char *name = (char *)(work->slots + work->site_count);
    for (size_t i = 0; i < work->site_count; i++) {
        size_t length = strlen(work->sites[i].name) + 1;
        memcpy(name, work->sites[i].name, length);
        atomic_init(&work->slots[i].target, target);
        work->slots[i].name = name;
        work->slots[i].runtime = runtime;
        name += length;
    }
    if (shorts) {
        work->island = pages_near(work->bias + work->sites[0].address,
                                  work->bias + work->sites[work->site_count - 1].address,
                                  shorts * REDIRECT_PATCH_BYTES);
        if (!work->island)
            fail(work->file, "there is no free memory near its code");
    }
}

static void patch_object(const struct redirect_elf *elf, const char *file, uint64_t bias)
{
    size_t limit = redirect_elf_site_limit(elf);
    if (limit == 0)
        return;
    struct redirect_site *sites = pages(limit * sizeof(*sites));
    if (!sites)
        fail(file, "out of memory");
    struct work work = {.file = file, .bias = bias, .sites = sites};
    work.site_count = redirect_elf_sites(elf, sites, limit);
    if (work.site_count) {
        make_slots(&work);
        for (size_t i = 0; i < elf->segment_count; i++) {
            if (elf->segments[i].p_type == PT_LOAD && (elf->segments[i].p_flags & PF_X))
                patch_segment(&work, &elf->segments[i]);
        }
        if (work.island) {
            flush(work.island, work.island_used);
            if (mprotect(work.island, work.island_used, PROT_READ | PROT_EXEC) != 0)
                fail(file, "the system does not let new code run");
        }
    }
    munmap(sites, limit * sizeof(*sites));
}

// --- NVRTC ---------------------------------------------------------------------------------------

// The address of a function that the file exports; 0: none.
static uint64_t exported(const struct redirect_elf *elf, const struct redirect_symbols *symbols,
                         const char *name)
{
    for (size_t i = 0; i < symbols->count; i++) {
        const Elf64_Sym *symbol = &symbols->items[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size >= REDIRECT_PATCH_BYTES &&
            redirect_elf_at(elf, symbol->st_value, symbol->st_size) &&
            strcmp(redirect_symbol_name(symbols, i), name) == 0)
            return symbol->st_value;
    }
    return 0;
}

// Makes NVRTC hand out PTX where a program asks for a cubin, which it has only if the program named
// a real architecture: NVRTC has the PTX of every compilation. The functions take the same
// arguments.
static void patch_nvrtc(const struct redirect_elf *elf, const char *file, uint64_t bias)
{
    static const char *const pairs[][2] = {{"nvrtcGetCUBINSize", "nvrtcGetPTXSize"},
                                           {"nvrtcGetCUBIN", "nvrtcGetPTX"}};
    const struct redirect_symbols symbols = redirect_elf_symbols(elf, SHT_DYNSYM);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t from[2], to[2];
    for (size_t i = 0; i < 2; i++) {
        from[i] = exported(elf, &symbols, pairs[i][0]);
        to[i] = exported(elf, &symbols, pairs[i][1]);
        if (!from[i] || !to[i])
            return; // releases before 11.1 have no cubins
    }
    for (size_t i = 0; i < 2; i++) {
        unsigned char code[REDIRECT_PATCH_BYTES];
        const uint64_t at = bias + from[i], first = at / page * page;
        const size_t size_bytes = (size_t)(at + REDIRECT_PATCH_BYTES - first);
        const size_t length = redirect_patch_jump(MACHINE, at, bias + to[i], code);
        if (!length || mprotect((void *)first, size_bytes, PROT_READ | PROT_WRITE) != 0)
            fail(file, "the system does not let its code be changed");
        memcpy((void *)at, code, length);
        flush((void *)at, length);
        if (mprotect((void *)first, size_bytes, PROT_READ | PROT_EXEC) != 0)
            fail(file, "the system does not let changed code run");
    }
}

static bool is_nvrtc(const char *path)
{
    static const char prefix[] = "libnvrtc.so";
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

// --- Objects -------------------------------------------------------------------------------------

// Returns whether the loader mapped this file: its dynamic section must lie where the loader has
// the object's.
static bool is_file_of(const struct redirect_elf *elf, const struct link_map *map)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (elf->segments[i].p_type == PT_DYNAMIC)
            return map->l_addr + elf->segments[i].p_vaddr == (uint64_t)map->l_ld;
    }
    return false;
}

static bool look_at(const struct link_map *map, const char *path, const char *name, bool is_program)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    struct stat stat;
    void *bytes = MAP_FAILED;
    if (fstat(file, &stat) == 0 && stat.st_size > 0)
        bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    struct redirect_elf elf;
    bool found = redirect_elf_init(&elf, bytes, (size_t)stat.st_size) &&
                 elf.header->e_machine == ELF_MACHINE && is_file_of(&elf, map);
    // What lies beside this library is a stand-in.
    const bool own = state.folder[0] && strncmp(name, state.folder, strlen(state.folder)) == 0;
    const char *vendor = own ? NULL : base_vendor_library(name);
    if (found && is_program && redirect_elf_vendor_library(&elf)) {
        say(name, " needs NVIDIA's libraries, which cannot run on the simulated GPU: ",
            redirect_elf_vendor_library(&elf));
        _exit(OWN_FAILURE);
    }
    if (found && is_nvrtc(name)) {
        patch_nvrtc(&elf, name, map->l_addr);
    } else if (found && vendor) {
        if (!state.told_vendor)
            say(vendor,
                " was loaded: NVIDIA's libraries cannot run on the simulated GPU, and their ",
                "calls will fail");
        state.told_vendor = true;
    } else if (found && redirect_elf_is_stripped(&elf)) {
        if (is_program) {
            say(name, " holds the static CUDA runtime, and is stripped of the symbols by which ",
                "glint would lead it to the simulated GPU: link it with 'nvcc -cudart shared', or "
                "without strip and -s");
            _exit(OWN_FAILURE);
        }
        say(name, " holds a CUDA runtime of its own without symbols: its calls do not reach ",
            "the simulated GPU and will fail");
    } else if (found) {
        patch_object(&elf, name, map->l_addr);
    }
    munmap(bytes, (size_t)stat.st_size);
    return found;
}

static bool is_seen(const struct link_map *map)
{
    for (size_t i = 0; i < state.seen_count; i++) {
        if (state.seen[i].map == map && state.seen[i].dynamic == map->l_ld)
            return true;
    }
    return false;
}

// Forgets objects that were unloaded, so that a new object at the same address is examined.
static void forget_gone(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < state.seen_count; i++) {
        const struct link_map *map = _r_debug.r_map;
        while (map && (map != state.seen[i].map || map->l_ld != state.seen[i].dynamic))
            map = map->l_next;
        if (map)
            state.seen[kept++] = state.seen[i];
    }
    state.seen_count = kept;
}

static void look_at_new_objects(void)
{
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (map->l_ld == _DYNAMIC || is_seen(map))
            continue;
        if (state.seen_count == MOST_OBJECTS) {
            if (!state.told_full)
                say("too many libraries", ": those opened from now on are not looked at", "");
            state.told_full = true;
            return;
        }
        state.seen[state.seen_count++] = (struct loaded_object){map, map->l_ld};
        if (map == _r_debug.r_map) { // the program; /proc/self/exe may be the loader instead
            if (!look_at(map, "/proc/self/exe", state.program, true))
                look_at(map, state.program, state.program, true);
        } else if (map->l_name[0] == '/' || strchr(map->l_name, '/')) {
            look_at(map, map->l_name, map->l_name, false);
        }
    }
}

// --- Libraries opened later ----------------------------------------------------------------------

// The loader calls this in place of its empty function.
static void on_change(void)
{
    const int error = errno;
    if (_r_debug.r_state == RT_CONSISTENT) {
        forget_gone();
        look_at_new_objects();
    }
    errno = error;
}

// The loader's function is empty, so on x86_64 it is shorter than a jump. It may be patched only if
// padding certainly follows it.
static bool has_room_for_jump(const unsigned char *code)
{
#if defined(__x86_64__)
    static const unsigned char mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; // endbr64
    size_t empty = memcmp(code, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;
    return code[empty] == 0xc3 && (uint64_t)code % 16 == 0;
#else
    (void)code;
    return true;
#endif
}

static bool watch_the_loader(void)
{
    unsigned char *function = (unsigned char *)_r_debug.r_brk;
    unsigned char code[REDIRECT_PATCH_BYTES];
    if (!function || !has_room_for_jump(function))
        return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    // The island holds the slot on its first page and the code that jumps through it on its second
    // page, which alone becomes executable.
    unsigned char *island = pages_near((uint64_t)function, (uint64_t)function, 2 * page);
    if (!island)
        return false;
    void (*hook)(void) = on_change;
    memcpy(island, &hook, sizeof(hook));
    size_t length = redirect_patch_slot(MACHINE, (uint64_t)island, island + page);
    flush(island + page, length);
    length = redirect_patch_jump(MACHINE, (uint64_t)function, (uint64_t)(island + page), code);
    if (length == 0 || mprotect(island + page, page, PROT_READ | PROT_EXEC) != 0)
        return false;
    // The patched bytes may cross the end of a page, so the range may be two pages.
    uint64_t first = (uint64_t)function / page * page;
    uint64_t size_bytes = (uint64_t)function + length - first;
    if (mprotect((void *)first, size_bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    memcpy(function, code, length);
    flush(function, length);
    return mprotect((void *)first, size_bytes, PROT_READ | PROT_EXEC) == 0;
}

// The loader passes the arguments of main() to constructors.
__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    const int error = errno; // the program's, which is 0 when it starts
    (void)environment;
    state.program = argc > 0 && argv[0] ? argv[0] : "the program";
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        const char *slash = map->l_ld == _DYNAMIC ? strrchr(map->l_name, '/') : NULL;
        if (slash && (size_t)(slash + 1 - map->l_name) < sizeof(state.folder))
            memcpy(state.folder, map->l_name, (size_t)(slash + 1 - map->l_name));
    }
    look_at_new_objects();
    watch_the_loader(); // if it fails, libraries that are opened later are not patched
    errno = error;
}
