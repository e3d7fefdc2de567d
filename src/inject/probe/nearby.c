// SPDX-License-Identifier: Apache-2.0
// Finds the PTX of a cubin in the file system, because the copy in the cubin has no line numbers:
//
//   - beside the file from which the cubin was loaded: NAME.ptx beside NAME.cubin;
//   - in Triton's cache, which has a folder for each kernel, with these two files: in the folder
//     where NAME.cubin has the bytes of the loaded cubin. NAME is that of its kernel, of which
//     Triton takes the first 150 characters. The cache is $TRITON_CACHE_DIR, else
//     $TRITON_HOME/.triton/cache, else ~/.triton/cache.
//
// A text is taken only if it is the one of which the cubin has the copy, so a wrong file can do no
// harm. Still, nothing is opened but regular files that belong to the user or root and that not
// everybody may write, in such folders, and no symbolic links. How many folders are looked into,
// how many files are read, and how long searches take is bounded.
#include "nearby.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/core/state.h"
#include "inject/util/environment.h"
#include "inject/util/settings.h"

enum {
    MOST_FOLDERS = 1 << 16, // of the cache, in one search
    MOST_CANDIDATES = 64,   // cubins of the right name and size that are compared
    MOST_KERNELS = 4,       // of a cubin whose files are looked for
    MOST_BYTES = 64 << 20,  // of a text
    MOST_NAME = 150,        // characters of a kernel's name in that of its files
    MOST_MS = 50,           // of one search
    MOST_TOTAL_MS = 1000,   // of all of them
    CHUNK_BYTES = 4 << 10,  // that are read at once, on the stack of a thread of the program
};

struct nearby_search {
    const struct fatbin_entry *cubin;
    const char *copy;
    char cubin_name[MOST_NAME + 8], ptx_name[MOST_NAME + 8];
    uint64_t until_ns;
    unsigned kernels, candidates;
    char *found;
    size_t length;
};

struct nearby_entry { // as the kernel returns it (struct linux_dirent64)
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

// --- Files ---------------------------------------------------------------------------------------

static bool is_trusted(const struct stat *about)
{
    return (about->st_uid == geteuid() || about->st_uid == 0) && !(about->st_mode & S_IWOTH);
}

// Returns the folder, opened; -1: it must not be used.
static int open_folder(int parent, const char *name, int flags)
{
    struct stat about;
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (folder < 0)
        return -1;
    if (fstat(folder, &about) == 0 && is_trusted(&about))
        return folder;
    close(folder);
    return -1;
}

static bool is_file(const struct stat *about)
{
    return S_ISREG(about->st_mode) && is_trusted(about);
}

// Returns the file, opened; -1: it must not be used. Something else than a file, which opening
// might affect, is not opened.
static int open_file(int folder, const char *name, uint64_t *bytes)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !is_file(&about))
        return -1;
    const int file =
        openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return -1;
    if (fstat(file, &about) == 0 && is_file(&about)) {
        *bytes = (uint64_t)about.st_size;
        return file;
    }
    close(file);
    return -1;
}

static bool read_all(int file, char *to, size_t bytes, size_t offset)
{
    while (bytes) {
        const ssize_t got = pread(file, to, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (size_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

// Returns whether the folder has the cubin.
static bool has_cubin(const struct nearby_search *search, int folder)
{
    char chunk[CHUNK_BYTES];
    uint64_t bytes = 0;
    const int file = open_file(folder, search->cubin_name, &bytes);
    if (file < 0)
        return false;
    bool same = bytes == search->cubin->payload_bytes;
    for (size_t at = 0; same && at < bytes; at += sizeof(chunk)) {
        const size_t piece = bytes - at < sizeof(chunk) ? bytes - at : sizeof(chunk);
        same = read_all(file, chunk, piece, at) &&
               memcmp(chunk, search->cubin->payload + at, piece) == 0;
    }
    close(file);
    return same;
}

// Takes the folder's text if the cubin was made of it.
static void take_text(struct nearby_search *search, int folder)
{
    uint64_t bytes = 0;
    const int file = open_file(folder, search->ptx_name, &bytes);
    if (file < 0)
        return;
    char *text = bytes && bytes <= MOST_BYTES ? malloc(bytes + 1) : NULL;
    const bool whole = text && read_all(file, text, bytes, 0);
    close(file);
    if (whole) {
        text[bytes] = '\0';
        if (strlen(text) == bytes && fatbin_is_copy(search->copy, text)) {
            search->found = text;
            search->length = bytes;
            return;
        }
    }
    free(text);
}

// --- Folders -------------------------------------------------------------------------------------

static void look_into(struct nearby_search *search, int cache, const char *name)
{
    char path[NAME_MAX + sizeof(search->cubin_name) + 2];
    struct stat about;
    snprintf(path, sizeof(path), "%s/%s", name, search->cubin_name);
    if (fstatat(cache, path, &about, AT_SYMLINK_NOFOLLOW) != 0 || !is_file(&about) ||
        (uint64_t)about.st_size != search->cubin->payload_bytes)
        return;
    search->candidates++;
    const int folder = open_folder(cache, name, O_NOFOLLOW);
    if (folder < 0)
        return;
    if (has_cubin(search, folder))
        take_text(search, folder);
    close(folder);
}

// The C library's functions for folders would use the program's allocator.
static void look_through(struct nearby_search *search, int cache)
{
    char buffer[CHUNK_BYTES] __attribute__((aligned(8)));
    unsigned count = 0;
    long got;
    while ((got = syscall(SYS_getdents64, cache, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < got;) {
            const struct nearby_entry *entry = (const struct nearby_entry *)(buffer + at);
            at += entry->bytes;
            if (entry->name[0] == '.' || strlen(entry->name) > NAME_MAX)
                continue;
            look_into(search, cache, entry->name);
            if (search->found || ++count == MOST_FOLDERS || search->candidates == MOST_CANDIDATES ||
                core_now_ns() > search->until_ns)
                return;
        }
    }
}

static bool find_cache(char *path, size_t room)
{
    char home[PATH_MAX];
    const char *first;
    if (util_environment("TRITON_CACHE_DIR", path, room) && *path)
        return true;
    if (!util_environment("TRITON_HOME", home, sizeof(home)) || !*home) {
        if (!util_environment("HOME", home, sizeof(home))) {
            first = util_setting("HOME");
            snprintf(home, sizeof(home), "%s", first ? first : "");
        }
    }
    return *home && (size_t)snprintf(path, room, "%s/.triton/cache", home) < room;
}

static void look_in_cache(struct nearby_search *search)
{
    char path[PATH_MAX];
    const int cache = find_cache(path, sizeof(path)) ? open_folder(AT_FDCWD, path, 0) : -1;
    if (cache < 0)
        return;
    look_through(search, cache);
    close(cache);
}

static void look_beside(struct nearby_search *search, const char *path)
{
    static const char suffix[] = ".cubin";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(name), stem = length - strlen(suffix);
    char folder_name[PATH_MAX];
    if (length <= strlen(suffix) || strcmp(name + stem, suffix) != 0 ||
        stem + sizeof(".ptx") > sizeof(search->ptx_name) ||
        (size_t)(name - path) >= sizeof(folder_name))
        return;
    snprintf(folder_name, sizeof(folder_name), "%.*s", (int)(name - path), path);
    const int folder = open_folder(AT_FDCWD, slash ? folder_name : ".", 0);
    if (folder < 0)
        return;
    snprintf(search->ptx_name, sizeof(search->ptx_name), "%.*s.ptx", (int)stem, name);
    take_text(search, folder);
    close(folder);
}

// --- The search ----------------------------------------------------------------------------------

// Looks for the files of this kernel. Triton's cubins have one.
static bool look_for(void *user, const char *kernel)
{
    struct nearby_search *search = user;
    if (search->kernels++ == MOST_KERNELS)
        return false;
    snprintf(search->cubin_name, sizeof(search->cubin_name), "%.*s.cubin", MOST_NAME, kernel);
    snprintf(search->ptx_name, sizeof(search->ptx_name), "%.*s.ptx", MOST_NAME, kernel);
    if (!strchr(search->cubin_name, '/'))
        look_in_cache(search);
    return !search->found && core_now_ns() < search->until_ns;
}

char *probe_nearby_find(const struct fatbin_entry *cubin, const char *path, const char *copy,
                        _Atomic uint64_t *spent_ns, size_t *length)
{
    enum { NS_A_MS = 1000000 };
    const uint64_t start_ns = core_now_ns(), spent = atomic_load(spent_ns);
    struct nearby_search search = {
        .cubin = cubin, .copy = copy, .until_ns = start_ns + (uint64_t)MOST_MS * NS_A_MS};
    struct base_error error = {0};
    if (spent > (uint64_t)MOST_TOTAL_MS * NS_A_MS)
        return NULL;
    if (path)
        look_beside(&search, path);
    if (!search.found)
        fatbin_each_kernel(cubin, look_for, &search, &error);
    atomic_fetch_add(spent_ns, core_now_ns() - start_ns);
    *length = search.length;
    return search.found;
}
