// SPDX-License-Identifier: Apache-2.0
// Finds images through _dl_find_object, which takes no lock. dl_iterate_phdr could deadlock if a
// signal handler calls it while the interrupted code is in it. _dl_find_object returns where an
// image is mapped, but not its identity, which is the build id, or else the path: a library that is
// unloaded often leaves its exact place to the one that is loaded next.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "images.h"
#include "inject/util/executable.h"

static bool find_object(uint64_t address, struct dl_find_object *found)
{
    return !_dl_find_object((void *)(uintptr_t)address, found); // NOLINT(performance-no-int-to-ptr)
}

// Build ids have 20 bytes, or 16 or 8, and are compared for every image of every call.
static inline bool is_same_id(const unsigned char *a, const unsigned char *b, uint32_t bytes)
{
    for (; bytes >= sizeof(uint32_t); bytes -= sizeof(uint32_t)) {
        uint32_t left, right;
        memcpy(&left, a, sizeof(left));
        memcpy(&right, b, sizeof(right));
        if (left != right)
            return false;
        a += sizeof(left);
        b += sizeof(right);
    }
    return !bytes || !memcmp(a, b, bytes);
}

static bool is_same(const struct stack_images_image *image, const struct dl_find_object *found)
{
    if (image->map_start != found->dlfo_map_start || image->map_end != found->dlfo_map_end ||
        image->link_map != found->dlfo_link_map || image->eh_frame != found->dlfo_eh_frame)
        return false;
    if (image->build_id)
        return is_same_id(image->build_id, image->event.build_id, image->event.build_id_bytes);
    const char *name = found->dlfo_link_map->l_name;
    return image->is_executable ||
           (!strncmp(name, image->path, image->path_bytes) && !name[image->path_bytes]);
}

bool stack_images_is_at(const struct stack_images *images, uint32_t number, uint64_t address)
{
    struct dl_find_object found;
    return find_object(address, &found) && is_same(stack_images_at(images, number), &found);
}

// --- New images ----------------------------------------------------------------------------------

static const ElfW(Phdr) *
    segment_at(const ElfW(Phdr) * headers, unsigned count, uint64_t address, uint64_t bias)
{
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD &&
            address - bias - headers[i].p_vaddr < headers[i].p_memsz)
            return &headers[i];
    return NULL;
}

static void read_build_id(const unsigned char *notes, size_t bytes,
                          struct stack_images_image *image)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof(note));
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes || content > bytes || sizeof(note) + name + content > bytes)
            return;
        const unsigned char *id = notes + sizeof(note) + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(notes + sizeof(note), "GNU", 4) && note.n_descsz &&
            note.n_descsz <= sizeof(image->event.build_id)) {
            image->build_id = id;
            image->event.build_id_bytes = note.n_descsz;
            memcpy(image->event.build_id, id, note.n_descsz);
            return;
        }
        notes += sizeof(note) + name + content;
        bytes -= sizeof(note) + name + content;
    }
}

struct headers {
    const ElfW(Phdr) * items; // NULL: unknown
    unsigned count;
};

// Finds the headers behind the ELF header, which linkers put first into what is loaded.
static struct headers headers_at(const unsigned char *start, size_t mapped)
{
    ElfW(Ehdr) elf;
    if (mapped < sizeof(elf))
        return (struct headers){NULL, 0};
    memcpy(&elf, start, sizeof(elf));
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof(ElfW(Phdr)) ||
        elf.e_phoff % sizeof(uint64_t) || elf.e_phoff > mapped ||
        elf.e_phnum > (mapped - elf.e_phoff) / sizeof(ElfW(Phdr)))
        return (struct headers){NULL, 0};
    return (struct headers){(const ElfW(Phdr) *)(const void *)(start + elf.e_phoff), elf.e_phnum};
}

// An image that does not begin with the ELF header may be a segment of the executable.
static struct headers headers_of_executable(uint64_t start, uint64_t bias)
{
    struct util_executable executable;
    const bool is_segment = util_find_executable(&executable) && executable.bias == bias &&
                            segment_at(executable.headers, executable.count, start, bias);
    return is_segment ? (struct headers){executable.headers, executable.count}
                      : (struct headers){NULL, 0};
}

// Returns false if the headers are not loaded.
static bool describe(const struct dl_find_object *found, struct stack_images_image *image)
{
    const unsigned char *start = found->dlfo_map_start;
    const size_t mapped = (size_t)((const unsigned char *)found->dlfo_map_end - start);
    const uint64_t bias = found->dlfo_link_map->l_addr;
    struct headers headers = headers_at(start, mapped);
    if (!headers.items)
        headers = headers_of_executable((uint64_t)(uintptr_t)start, bias);
    struct event_image *event = &image->event;
    event->bias = bias;
    event->start = UINT64_MAX;
    for (unsigned i = 0; i < headers.count; i++) {
        const ElfW(Phdr) *header = &headers.items[i];
        uint64_t from = bias + header->p_vaddr, to = from + header->p_memsz;
        const ElfW(Phdr) *around = segment_at(headers.items, headers.count, from, bias);
        if (!around || !(around->p_flags & PF_R))
            continue;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            event->start = from < event->start ? from : event->start;
            event->end = to > event->end ? to : event->end;
        } else if (header->p_type == PT_NOTE && !image->build_id) {
            read_build_id((const unsigned char *)(uintptr_t)from, header->p_memsz, image);
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            uint64_t readable = bias + around->p_vaddr;
            image->cfi = (struct stack_cfi_tables){
                .header = (const unsigned char *)(uintptr_t)from,
                .header_bytes = header->p_memsz,
                .readable = (const unsigned char *)(uintptr_t)readable,
                .readable_end = (const unsigned char *)(uintptr_t)(readable + around->p_filesz)};
        }
    }
    return event->start < event->end;
}

// Reserves room for a path; NULL: no room is left.
static char *claim_path(struct stack_images *images, size_t bytes)
{
    uint32_t at =
        atomic_fetch_add_explicit(&images->path_bytes, (uint32_t)bytes, memory_order_relaxed);
    if (at <= IMAGES_PATH_BYTES - bytes)
        return images->paths + at;
    atomic_fetch_sub_explicit(&images->path_bytes, (uint32_t)bytes, memory_order_relaxed);
    return NULL;
}

static void read_path(struct stack_images *images, const char *name,
                      struct stack_images_image *image)
{
    image->hidden = !strncmp(name, "linux-vdso", 10);
    image->is_executable = !*name;
    size_t bytes = *name ? strnlen(name, PATH_MAX) : PATH_MAX;
    char *path = claim_path(images, bytes);
    if (!path)
        return;
    if (*name) {
        memcpy(path, name, bytes);
    } else {
        int saved = errno;
        long got = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, bytes);
        bytes = got > 0 ? (size_t)got : 0;
        errno = saved;
    }
    image->path = path;
    image->path_bytes = (uint32_t)bytes;
}

uint32_t stack_images_find(struct stack_images *images, uint64_t address)
{
    struct dl_find_object found;
    if (!find_object(address, &found))
        return 0;
    uint32_t count = atomic_load_explicit(&images->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < IMAGES_MOST; i++)
        if (atomic_load_explicit(&images->image[i].ready, memory_order_acquire) &&
            is_same(&images->image[i], &found))
            return i + 1;
    struct stack_images_image image = {.map_start = found.dlfo_map_start,
                                       .map_end = found.dlfo_map_end,
                                       .link_map = found.dlfo_link_map,
                                       .eh_frame = found.dlfo_eh_frame};
    if (!describe(&found, &image) || count >= IMAGES_MOST)
        return 0;
    uint32_t claimed = atomic_fetch_add_explicit(&images->count, 1, memory_order_relaxed);
    if (claimed >= IMAGES_MOST)
        return 0;
    read_path(images, found.dlfo_link_map->l_name ? found.dlfo_link_map->l_name : "", &image);
    // Images that were loaded when the program started are never unloaded. Only the executable and
    // the C library are marked, because they are on every path.
    const uint64_t libc = (uint64_t)(uintptr_t)&getppid;
    image.stays = image.is_executable || (libc >= image.event.start && libc < image.event.end);
    image.python = (uint8_t)python_recognize(found.dlfo_link_map, image.path, image.path_bytes);
    struct stack_images_image *place = &images->image[claimed];
    memcpy(place, &image, offsetof(struct stack_images_image, ready));
    atomic_store_explicit(&place->ready, true, memory_order_release);
    return claimed + 1;
}

bool stack_images_tell(struct stack_images *images, uint32_t number, struct event_ring *ring)
{
    struct stack_images_image *image = &images->image[number - 1];
    if (image->hidden || atomic_load_explicit(&image->reported, memory_order_acquire))
        return true;
    if (!event_put(ring, EVENT_IMAGE, &image->event, sizeof(image->event), image->path,
                   image->path_bytes))
        return false;
    atomic_store_explicit(&image->reported, true, memory_order_release);
    return true;
}
