// SPDX-License-Identifier: Apache-2.0
// Temporary folders. While one is being made or removed it is called glint-part-XXXXXX, and may be
// in any state; it has its own name only with its lock in it. So a process can be killed at any
// moment, and the next one knows what to remove.
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

static const char prefix[] = "glint-", part[] = "glint-part-";

enum { RANDOM = 6 }; // characters at the end of a folder's name

// Opens the folder that the folder at `path` is in, and sets `name` to the latter's name there. The
// path is changed.
static int open_above(char *path, const char **name)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    *name = slash + 1;
    return open(slash == path ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

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

// Removes a folder and all that is in it. From its first step on it is part of a folder.
static void remove_folder(int where, const char *name, int folder)
{
    char renamed[sizeof(part) + RANDOM];
    const size_t length = strlen(name);
    snprintf(renamed, sizeof(renamed), "%s%s", part,
             name + (length > RANDOM ? length - RANDOM : 0));
    if (strcmp(name, renamed) != 0 && renameat(where, name, where, renamed) == 0)
        name = renamed;
    empty_folder(folder, 0);
    unlinkat(folder, BASE_SCRATCH_LOCK, 0);
    if (is_at(folder, where, name))
        unlinkat(where, name, AT_REMOVEDIR);
}

// Removes the folder `name` in `where` if its owner is dead.
static void sweep_one(int where, const char *name)
{
    const int folder = openat(where, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    if (is_own(folder, S_IFDIR) && strncmp(name, part, strlen(part)) == 0) {
        // Who is making it holds it, or finds that it is gone.
        if (flock(folder, LOCK_EX | LOCK_NB) == 0)
            remove_folder(where, name, folder);
    } else if (is_own(folder, S_IFDIR)) {
        const int lock =
            openat(folder, BASE_SCRATCH_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        // If another process has removed the folder meanwhile, the lock is no longer there.
        if (lock >= 0 && is_own(lock, S_IFREG) && flock(lock, LOCK_EX | LOCK_NB) == 0 &&
            is_at(lock, folder, BASE_SCRATCH_LOCK))
            remove_folder(where, name, folder);
        if (lock >= 0)
            close(lock);
    }
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

// Makes the lock in the folder and holds it. On a file system without locks the folder has none,
// and is never taken for dead. Returns false if the folder is gone.
static bool make_lock(int folder, int *lock)
{
    if (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false; // somebody is about to remove it
    *lock =
        openat(folder, BASE_SCRATCH_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (*lock < 0)
        return errno != ENOENT;
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0)
        unlinkat(folder, BASE_SCRATCH_LOCK, 0);
    return true;
}

// Makes one folder at `path`, which has the form of what mkdtemp takes. Returns 0 if there is one,
// EAGAIN if another name should be tried, else why there is none.
static int make_folder(const char *where, const char *path, struct base_scratch *scratch)
{
    struct base_buf made = {0};
    int folder = -1, why = 0;
    base_buf_printf(&made, "%s/%sXXXXXX", where, part);
    scratch->path = strdup(path);
    if (made.failed || !scratch->path)
        why = ENOMEM;
    else if (!mkdtemp(made.text))
        why = errno;
    else if ((folder = open(made.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        why = errno == ENOENT ? EAGAIN : errno;
    else if (!make_lock(folder, &scratch->lock))
        why = EAGAIN;
    if (!why) {
        memcpy(scratch->path + strlen(path) - RANDOM, made.text + made.length - RANDOM, RANDOM);
        why = access(scratch->path, F_OK) == 0        ? EAGAIN
              : rename(made.text, scratch->path) == 0 ? 0
                                                      : errno;
    }
    if (folder >= 0)
        close(folder);
    if (why) {
        if (scratch->lock >= 0)
            close(scratch->lock); // the next one who makes a folder removes this
        free(scratch->path);
        *scratch = (struct base_scratch){.lock = -1, .life = -1};
    }
    base_buf_fini(&made);
    return why;
}

enum base_code base_scratch_make(const char *kind, size_t longest, struct base_scratch *scratch,
                                 struct base_error *error)
{
    enum { TRIES = 100 };
    const char *where = getenv("TMPDIR");
    struct base_buf path = {0};
    int why = EAGAIN;
    *scratch = (struct base_scratch){.lock = -1, .life = -1};
    if (!where || !*where || (longest && strlen(where) > longest))
        where = "/tmp";
    sweep(where);
    base_buf_printf(&path, "%s/%s%s-XXXXXX", where, prefix, kind);
    if (path.failed)
        return base_no_memory(error);
    for (int i = 0; i < TRIES && why == EAGAIN; i++)
        why = make_folder(where, path.text, scratch);
    base_buf_fini(&path);
    if (why == ENOMEM)
        return base_no_memory(error);
    return why ? base_fail(error, BASE_IO, "cannot create a folder in %s: %s", where, strerror(why))
               : BASE_OK;
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
    const char *name = NULL;
    const int where = open_above(scratch->path, &name);
    if (where >= 0)
        sweep_one(where, name);
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

void base_scratch_remove(struct base_scratch *scratch)
{
    if (!scratch->path)
        return;
    const char *name = NULL;
    const int where = open_above(scratch->path, &name);
    const int folder =
        where >= 0 ? openat(where, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (folder >= 0) {
        remove_folder(where, name, folder);
        close(folder);
    }
    if (where >= 0)
        close(where);
    forget(scratch);
}
