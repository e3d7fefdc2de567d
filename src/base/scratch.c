// SPDX-License-Identifier: Apache-2.0
// Temporary folders. A lock becomes visible only when it is held, because the file is renamed after
// it is locked: a folder without a lock may just be being made, and is left alone.
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "str.h"

enum { DEEPEST = 8, MOST_EXAMINED = 100000, LONGEST_MS = 10000 };

static const char prefix[] = "glint-";

// --- Removing ------------------------------------------------------------------------------------

// Removes everything in the folder but the lock. Follows no links.
static void empty_folder(int folder, int depth)
{
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (!list && again >= 0)
        close(again);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (depth == 0 && strcmp(name, BASE_SCRATCH_LOCK) == 0))
            continue;
        if (unlinkat(folder, name, 0) == 0 || depth == DEEPEST)
            continue;
        const int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0)
            continue;
        empty_folder(inner, depth + 1);
        close(inner);
        unlinkat(folder, name, AT_REMOVEDIR);
    }
    if (list)
        closedir(list);
}

static bool is_own(int file, mode_t kind)
{
    struct stat about;
    return fstat(file, &about) == 0 && (about.st_mode & S_IFMT) == kind &&
           about.st_uid == geteuid() && !(about.st_mode & (S_IRWXG | S_IRWXO));
}

static bool is_at(int file, int folder, const char *name)
{
    struct stat held, named;
    return fstat(file, &held) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

// Removes the folder `name` in `where` if its owner is dead.
static void sweep_one(int where, const char *name)
{
    const int folder = openat(where, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int lock =
        folder >= 0 && is_own(folder, S_IFDIR)
            ? openat(folder, BASE_SCRATCH_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            : -1;
    // If another process has removed the folder meanwhile, the lock is no longer there.
    if (lock >= 0 && is_own(lock, S_IFREG) && flock(lock, LOCK_EX | LOCK_NB) == 0 &&
        is_at(lock, folder, BASE_SCRATCH_LOCK)) {
        empty_folder(folder, 0);
        unlinkat(folder, BASE_SCRATCH_LOCK, 0);
        if (is_at(folder, where, name))
            unlinkat(where, name, AT_REMOVEDIR);
    }
    if (lock >= 0)
        close(lock);
    if (folder >= 0)
        close(folder);
}

static void sweep(const char *path)
{
    DIR *list = opendir(path);
    unsigned examined = 0;
    for (const struct dirent *entry; list && examined < MOST_EXAMINED && (entry = readdir(list));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        examined++;
        sweep_one(dirfd(list), entry->d_name);
    }
    if (list)
        closedir(list);
}

// --- Making --------------------------------------------------------------------------------------

static int make_lock(const char *folder)
{
    struct base_buf made = {0}, name = {0};
    base_buf_printf(&made, "%s/" BASE_SCRATCH_LOCK ".new", folder);
    base_buf_printf(&name, "%s/" BASE_SCRATCH_LOCK, folder);
    int lock = -1;
    if (!made.failed && !name.failed)
        lock = open(made.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    // On a file system without locks the folder has none, and is never taken for dead.
    if (lock >= 0 && (flock(lock, LOCK_EX | LOCK_NB) != 0 || rename(made.text, name.text) != 0))
        unlink(made.text);
    base_buf_fini(&made);
    base_buf_fini(&name);
    return lock;
}

enum base_code base_scratch_make(const char *kind, size_t longest, struct base_scratch *scratch,
                                 struct base_error *error)
{
    const char *where = getenv("TMPDIR");
    struct base_buf path = {0};
    *scratch = (struct base_scratch){.lock = -1, .life = -1};
    if (!where || !*where || (longest && strlen(where) > longest))
        where = "/tmp";
    sweep(where);
    base_buf_printf(&path, "%s/%s%s-XXXXXX", where, prefix, kind);
    if (path.failed || !mkdtemp(path.text)) {
        enum base_code code = path.failed
                                  ? base_no_memory(error)
                                  : base_fail(error, BASE_IO, "cannot create a folder in %s: %s",
                                              where, strerror(errno));
        base_buf_fini(&path);
        return code;
    }
    scratch->path = path.text;
    scratch->lock = make_lock(path.text);
    return BASE_OK;
}

// --- The keeper ----------------------------------------------------------------------------------

// Closes all descriptors but one, so that nobody waits for the keeper to close a pipe or a lock.
static void close_others(int kept)
{
    const long most = sysconf(_SC_OPEN_MAX);
#ifdef SYS_close_range
    if ((kept == 0 || syscall(SYS_close_range, 0u, (unsigned)kept - 1, 0u) == 0) &&
        syscall(SYS_close_range, (unsigned)kept + 1, ~0u, 0u) == 0)
        return;
#endif
    for (int i = 0; i < most && i < 65536; i++) {
        if (i != kept)
            close(i);
    }
}

// Waits until the owner is dead and the system has dropped its locks, which happens before its
// children have another parent. Its descriptors are closed in any order before.
static void await_death(pid_t owner)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < LONGEST_MS && getppid() == owner; i++)
        nanosleep(&pause, NULL);
}

static void keep(const struct base_scratch *scratch, pid_t owner, int life,
                 void (*clean)(void *user), void *user)
{
    sigset_t all;
    char byte;
    ssize_t got;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid(); // signals to the owner's group do not reach it
    prctl(PR_SET_NAME, "glint-keeper");
    close_others(life);
    do
        got = read(life, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got == 1) // the owner has ended the folder itself
        _exit(0);
    await_death(owner);
    if (clean)
        clean(user);
    const int where = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sweep_one(scratch->path[0] == '/' ? where : AT_FDCWD,
              scratch->path + (scratch->path[0] == '/'));
    _exit(0);
}

void base_scratch_keep(struct base_scratch *scratch, void (*clean)(void *user), void *user)
{
    int ends[2];
    const pid_t owner = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    scratch->keeper = fork();
    if (scratch->keeper == 0)
        keep(scratch, owner, ends[0], clean, user);
    close(ends[0]);
    if (scratch->keeper > 0)
        scratch->life = ends[1];
    else
        close(ends[1]);
}

// --- Ending --------------------------------------------------------------------------------------

static void forget(struct base_scratch *scratch)
{
    if (scratch->lock >= 0)
        close(scratch->lock);
    if (scratch->life >= 0) {
        // If the keeper was killed, nobody reads this; waiting for it ends all the same.
        const struct sigaction ignore = {.sa_handler = SIG_IGN};
        struct sigaction before;
        sigaction(SIGPIPE, &ignore, &before);
        while (write(scratch->life, "", 1) < 0 && errno == EINTR) {
        }
        sigaction(SIGPIPE, &before, NULL);
        close(scratch->life);
        while (waitpid(scratch->keeper, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    free(scratch->path);
    *scratch = (struct base_scratch){.lock = -1, .life = -1};
}

void base_scratch_leave(struct base_scratch *scratch)
{
    struct base_buf name = {0};
    base_buf_printf(&name, "%s/" BASE_SCRATCH_LOCK, scratch->path ? scratch->path : "");
    if (scratch->path && !name.failed)
        unlink(name.text);
    base_buf_fini(&name);
    forget(scratch);
}

void base_scratch_remove(struct base_scratch *scratch)
{
    if (!scratch->path)
        return;
    const int folder = open(scratch->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) {
        empty_folder(folder, 0);
        unlinkat(folder, BASE_SCRATCH_LOCK, 0);
        close(folder);
        rmdir(scratch->path);
    }
    forget(scratch);
}
