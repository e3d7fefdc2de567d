// SPDX-License-Identifier: Apache-2.0
// Removes new files of killed recorders beside a profile, FILE.new-NUMBER: regular files of this
// user that look like a profile that was just begun, and whose lock is free.
#include "sweep.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"

enum { LOCK_AT = 0x7ffffff0, HEAD_BYTES = 100, APPLICATION_AT = 68, MOST_EXAMINED = 10000 };

bool profile_lock(int file)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

_Atomic unsigned profile_writing;

bool profile_is_locked(const char *path)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1};
    if (atomic_load(&profile_writing))
        return true; // it cannot be asked; it may be this process's own
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const bool locked =
        file >= 0 && fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
    if (file >= 0)
        close(file);
    return locked;
}

// Returns true for an empty file, one that SQLite has not written to yet, and a profile.
static bool looks_new(int file)
{
    static const unsigned char nothing[HEAD_BYTES];
    unsigned char head[HEAD_BYTES] = {0};
    const ssize_t got = pread(file, head, sizeof(head), 0);
    if (got == 0)
        return true;
    const uint32_t application = (uint32_t)head[APPLICATION_AT] << 24 |
                                 (uint32_t)head[APPLICATION_AT + 1] << 16 |
                                 (uint32_t)head[APPLICATION_AT + 2] << 8 | head[APPLICATION_AT + 3];
    return got == (ssize_t)sizeof(head) &&
           (memcmp(head, nothing, sizeof(head)) == 0 ||
            (memcmp(head, "SQLite format 3", 16) == 0 && application == PROFILE_APPLICATION_ID));
}

static void sweep_one(int folder, const char *name)
{
    struct stat held, named;
    const int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &held) == 0 && S_ISREG(held.st_mode) && held.st_uid == geteuid() &&
        held.st_nlink == 1 && profile_lock(file) && looks_new(file) &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && held.st_dev == named.st_dev &&
        held.st_ino == named.st_ino)
        unlinkat(folder, name, 0);
    close(file);
}

static bool is_number(const char *text)
{
    if (!*text)
        return false;
    while (isdigit((unsigned char)*text))
        text++;
    return *text == '\0';
}

void profile_sweep(const char *path)
{
    struct base_buf folder = {0}, start = {0};
    const char *slash = strrchr(path, '/');
    base_buf_add(&folder, path, slash ? (size_t)(slash - path) + 1 : 0);
    if (!slash)
        base_buf_putc(&folder, '.');
    base_buf_printf(&start, "%s" PROFILE_NEW_SUFFIX, slash ? slash + 1 : path);
    DIR *list = folder.failed || start.failed ? NULL : opendir(folder.text);
    unsigned examined = 0;
    for (const struct dirent *entry; list && examined < MOST_EXAMINED && (entry = readdir(list));) {
        if (strncmp(entry->d_name, start.text, start.length) != 0 ||
            !is_number(entry->d_name + start.length))
            continue;
        examined++;
        sweep_one(dirfd(list), entry->d_name);
    }
    if (list)
        closedir(list);
    base_buf_fini(&folder);
    base_buf_fini(&start);
}
