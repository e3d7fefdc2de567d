// SPDX-License-Identifier: Apache-2.0
// The functions stat(2), which glibc exports since 2.33. Before, its headers had them call
// functions that newer headers do not declare. On 64-bit systems the kernel's structure is glibc's.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(long) == 8, "the kernel's structure is that of 64-bit systems");

static int status_of(int folder, const char *path, void *status, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

#define STANDS_IN(bits)                                                                         \
    int glibc_stat##bits(const char *path, struct stat##bits *status) __asm__("stat" #bits);    \
    int glibc_stat##bits(const char *path, struct stat##bits *status)                           \
    {                                                                                           \
        return status_of(AT_FDCWD, path, status, 0);                                            \
    }                                                                                           \
    int glibc_lstat##bits(const char *path, struct stat##bits *status) __asm__("lstat" #bits);  \
    int glibc_lstat##bits(const char *path, struct stat##bits *status)                          \
    {                                                                                           \
        return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);                          \
    }                                                                                           \
    int glibc_fstat##bits(int file, struct stat##bits *status) __asm__("fstat" #bits);          \
    int glibc_fstat##bits(int file, struct stat##bits *status)                                  \
    {                                                                                           \
        return (int)syscall(SYS_fstat, file, status);                                           \
    }                                                                                           \
    int glibc_fstatat##bits(int folder, const char *path, struct stat##bits *status,            \
                            int flags) __asm__("fstatat" #bits);                                \
    int glibc_fstatat##bits(int folder, const char *path, struct stat##bits *status, int flags) \
    {                                                                                           \
        return status_of(folder, path, status, flags);                                          \
    }

STANDS_IN()
STANDS_IN(64)
