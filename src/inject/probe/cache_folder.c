// SPDX-License-Identifier: Apache-2.0
// Opens the folder of the cache. The secret is a file of random bytes in it that only the user can
// read. Entries carry a hash with this key, so an entry that was put there without it is ignored:
// one that came with an archive, or that was written while the folder was open to others.
#include "cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char secret_name[] = "key";

bool probe_cache_is_own(const struct stat *about)
{
    return about->st_uid == geteuid() && !(about->st_mode & (S_IWGRP | S_IWOTH));
}

// Makes the folder and its parents.
static bool make_folder(const char *path)
{
    char part[PATH_MAX];
    const size_t length = strnlen(path, sizeof(part));
    if (length == sizeof(part))
        return false;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        mkdir(part, S_IRWXU);
    }
    return true;
}

// Sets *wrong if there is a file of that name which is not a secret.
static bool read_secret(int folder, unsigned char secret[BASE_SIPHASH_KEY_BYTES], bool *wrong)
{
    struct stat about;
    const int file = openat(folder, secret_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *wrong = file < 0 && errno != ENOENT;
    if (file < 0)
        return false;
    const bool good = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                      probe_cache_is_own(&about) && !(about.st_mode & (S_IRWXG | S_IRWXO)) &&
                      about.st_size == BASE_SIPHASH_KEY_BYTES &&
                      read(file, secret, BASE_SIPHASH_KEY_BYTES) == BASE_SIPHASH_KEY_BYTES;
    *wrong = !good;
    close(file);
    return good;
}

// Several processes may do this at once: the first one to link its file wins.
static void make_secret(int folder)
{
    unsigned char secret[BASE_SIPHASH_KEY_BYTES];
    char temporary[64];
    if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != (ssize_t)sizeof(secret))
        return;
    snprintf(temporary, sizeof(temporary), "%s.%d.%d", secret_name, getpid(),
             (int)syscall(SYS_gettid));
    const int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR);
    if (file < 0)
        return;
    if (write(file, secret, sizeof(secret)) == (ssize_t)sizeof(secret))
        linkat(folder, temporary, folder, secret_name, 0);
    close(file);
    unlinkat(folder, temporary, 0);
}

int probe_cache_open(const char *path, bool make, unsigned char secret[BASE_SIPHASH_KEY_BYTES])
{
    struct stat about;
    bool wrong = false;
    if (!path || (make && !make_folder(path)))
        return -1;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0)
        return -1;
    if (fstat(folder, &about) == 0 && probe_cache_is_own(&about)) {
        bool known = read_secret(folder, secret, &wrong);
        if (!known && make) {
            if (wrong)
                unlinkat(folder, secret_name, 0);
            make_secret(folder);
            known = read_secret(folder, secret, &wrong);
        }
        if (known)
            return folder;
    }
    close(folder);
    return -1;
}
