// SPDX-License-Identifier: Apache-2.0
// The cache of results of earlier runs: rewritten modules and linked parts, one file each in
// $GLINT_CACHE, else $XDG_CACHE_HOME/glint, else ~/.cache/glint. The file's name is the key: a hash
// of the text and of everything that affects the result. That includes glint's code, so that a file
// of another version never matches. A file is written under another name and renamed. Its contents
// are used only if its keyed hash matches (cache_folder.h). If anything fails, the result is
// computed as if there were no cache.
#include "cache.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache_folder.h"
#include "inject/util/settings.h"
#include "probe.h"

#include <xxhash.h>

enum {
    MOST_BYTES = 256 * 1024 * 1024, // total size of all files
    KEPT_PERCENT = 75,              // of MOST_BYTES, kept when there is too much
    MOST_FILES = 4096,              // files that are examined
    NAME_BYTES = 33,                // a key in hexadecimal figures
};

#define MAGIC "glint probes 2\n"

struct head {
    char magic[16];
    uint64_t key[2];
    uint64_t bytes;                         // bytes that follow
    unsigned char hash[BASE_SIPHASH_BYTES]; // of the fields above and of these bytes
};

// --- Keys ----------------------------------------------------------------------------------------

// Where this library is mapped, from the linker: asking the loader would take its lock.
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); // NOLINT

// The library's code identifies the version of glint.
static XXH128_hash_t hash_code(void)
{
    const char *start = (const char *)&__ehdr_start;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(const void *)(start + __ehdr_start.e_phoff);
    XXH128_hash_t hash = {0};
    for (int i = 0; i < __ehdr_start.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
            hash = XXH3_128bits(start + segments[i].p_vaddr, segments[i].p_filesz);
    }
    return hash;
}

static XXH128_hash_t hash_text(const char *text)
{
    return XXH3_128bits(text ? text : "", text ? strlen(text) : 0);
}

void probe_cache_key(const char *text, size_t length, unsigned gpu, unsigned parts, bool maps,
                     uint64_t key[2])
{
    struct {
        XXH128_hash_t code, text, kernels, excluded;
        uint64_t length;
        uint32_t facts, gpu, parts, word_ways, lines, maps;
        char version[32];
    } about = {.length = length,
               .facts = probe_state->facts,
               .gpu = gpu,
               .parts = parts,
               .word_ways = probe_state->word_ways,
               .lines = core_state.simulated,
               .maps = maps};
    about.code = hash_code();
    about.text = XXH3_128bits(text, length);
    about.kernels = hash_text(probe_state->kernels.expression);
    about.excluded = hash_text(probe_state->excluded.expression);
    strncpy(about.version, GLINT_VERSION, sizeof(about.version) - 1);
    const XXH128_hash_t hash = XXH3_128bits(&about, sizeof(about));
    key[0] = hash.high64;
    key[1] = hash.low64;
}

// --- The folder ----------------------------------------------------------------------------------

char *probe_cache_folder(void)
{
    const char *set = util_setting(EVENT_CACHE_VARIABLE), *base = util_setting("XDG_CACHE_HOME");
    const char *home = util_setting("HOME");
    struct base_buf path = {0};
    if (set)
        base_buf_puts(&path, set);
    else if (base && *base == '/')
        base_buf_printf(&path, "%s/glint", base);
    else if (home && *home == '/')
        base_buf_printf(&path, "%s/.cache/glint", home);
    if (path.length && !path.failed)
        return path.text;
    base_buf_fini(&path);
    return NULL;
}

static void name_of(const uint64_t key[2], char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016llx%016llx", (unsigned long long)key[0],
             (unsigned long long)key[1]);
}

// --- Reading -------------------------------------------------------------------------------------

static void hash_entry(const unsigned char secret[BASE_SIPHASH_KEY_BYTES], const struct head *head,
                       const void *bytes, unsigned char hash[BASE_SIPHASH_BYTES])
{
    base_siphash(secret, head, offsetof(struct head, hash), bytes, head->bytes, hash);
}

// Returns whether the bytes are a complete entry with that key, written with the secret.
static bool is_entry(const unsigned char secret[BASE_SIPHASH_KEY_BYTES], const uint64_t key[2],
                     const unsigned char *bytes, size_t length)
{
    struct head head;
    unsigned char hash[BASE_SIPHASH_BYTES];
    if (length < sizeof(head))
        return false;
    memcpy(&head, bytes, sizeof(head));
    if (memcmp(head.magic, MAGIC, sizeof(MAGIC)) != 0 || head.key[0] != key[0] ||
        head.key[1] != key[1] || head.bytes != length - sizeof(head))
        return false;
    hash_entry(secret, &head, bytes + sizeof(head), hash);
    return memcmp(hash, head.hash, sizeof(hash)) == 0;
}

// Reads a file if only this user can have written it; otherwise returns NULL.
static unsigned char *read_file(int file, size_t *length)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || !probe_cache_is_own(&about) ||
        about.st_size <= 0 || about.st_size > MOST_BYTES)
        return NULL;
    unsigned char *bytes = malloc((size_t)about.st_size);
    size_t got = 0;
    while (bytes && got < (size_t)about.st_size) {
        const ssize_t more = read(file, bytes + got, (size_t)about.st_size - got);
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    *length = got;
    return bytes;
}

unsigned char *probe_cache_read(const uint64_t key[2], size_t *length)
{
    char name[NAME_BYTES];
    unsigned char *bytes = NULL, secret[BASE_SIPHASH_KEY_BYTES];
    const int folder = probe_cache_open(probe_state->cache, false, secret);
    if (folder < 0)
        return NULL;
    name_of(key, name);
    const int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0) {
        bytes = read_file(file, length);
        if (bytes && is_entry(secret, key, bytes, *length)) {
            *length -= sizeof(struct head);
            memmove(bytes, bytes + sizeof(struct head), *length);
            futimens(file, NULL); // unused entries are removed first
        } else {
            free(bytes);
            bytes = NULL;
            unlinkat(folder, name, 0);
        }
        close(file);
    }
    close(folder);
    return bytes;
}

// --- Writing -------------------------------------------------------------------------------------

struct kept {
    char name[NAME_BYTES];
    uint64_t bytes, used_ns;
};

static int by_use(const void *a, const void *b)
{
    const uint64_t x = ((const struct kept *)a)->used_ns, y = ((const struct kept *)b)->used_ns;
    return (x > y) - (x < y);
}

struct folder_entry { // as the kernel returns it (struct linux_dirent64)
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

// Lists the folder's files, up to `most`, with their total size. The C library's functions would
// use the program's allocator.
static size_t list(int folder, struct kept *files, size_t most, uint64_t *total)
{
    char buffer[4096] __attribute__((aligned(8)));
    size_t count = 0;
    long got;
    *total = 0;
    lseek(folder, 0, SEEK_SET);
    while ((got = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < got;) {
            const struct folder_entry *entry = (const struct folder_entry *)(buffer + at);
            struct stat about;
            at += entry->bytes;
            if (count == most || strnlen(entry->name, NAME_BYTES) != NAME_BYTES - 1 ||
                fstatat(folder, entry->name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISREG(about.st_mode))
                continue;
            struct kept *file = &files[count++];
            memcpy(file->name, entry->name, NAME_BYTES);
            file->bytes = (uint64_t)about.st_size;
            file->used_ns =
                (uint64_t)about.st_mtim.tv_sec * 1000000000u + (uint64_t)about.st_mtim.tv_nsec;
            *total += file->bytes;
        }
    }
    return count;
}

// If so many more bytes would exceed the limit, removes the entries that were unused for the
// longest time.
static void make_room(int folder, uint64_t more)
{
    uint64_t total;
    struct kept *files = calloc(MOST_FILES, sizeof(*files));
    size_t count = files ? list(folder, files, MOST_FILES, &total) : 0;
    if (count && (total + more > MOST_BYTES || count == MOST_FILES)) {
        const uint64_t least = (uint64_t)MOST_BYTES * KEPT_PERCENT / 100;
        qsort(files, count, sizeof(*files), by_use);
        for (size_t i = 0; i < count; i++) {
            if (total + more <= least && count - i <= MOST_FILES * KEPT_PERCENT / 100)
                break;
            if (unlinkat(folder, files[i].name, 0) == 0)
                total -= files[i].bytes;
        }
    }
    free(files);
}

static bool write_all(int file, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length) {
        const ssize_t done = write(file, at, length);
        if (done <= 0)
            return false;
        at += done;
        length -= (size_t)done;
    }
    return true;
}

// Returns whether the file may be written. Exceeding a limit on file sizes would end the program
// with a signal.
static bool may_write(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

static void write_entry(int folder, const struct head *head, const void *bytes)
{
    char name[NAME_BYTES], temporary[NAME_BYTES + 64];
    name_of(head->key, name);
    snprintf(temporary, sizeof(temporary), "%s.%d.%d", name, getpid(), (int)syscall(SYS_gettid));
    const int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR);
    if (file < 0)
        return;
    const bool good = write_all(file, head, sizeof(*head)) && write_all(file, bytes, head->bytes);
    close(file);
    if (!good || renameat(folder, temporary, folder, name) != 0)
        unlinkat(folder, temporary, 0);
}

void probe_cache_write(const uint64_t key[2], const void *bytes, size_t length)
{
    if (length + sizeof(struct head) > MOST_BYTES / 4 || !may_write(length + sizeof(struct head)))
        return;
    unsigned char secret[BASE_SIPHASH_KEY_BYTES];
    const int folder = probe_cache_open(probe_state->cache, true, secret);
    if (folder < 0)
        return;
    struct head head = {.key = {key[0], key[1]}, .bytes = length};
    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    hash_entry(secret, &head, bytes, head.hash);
    make_room(folder, length + sizeof(head));
    write_entry(folder, &head, bytes);
    close(folder);
}
