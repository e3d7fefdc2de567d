// SPDX-License-Identifier: Apache-2.0
// Creates a profile: makes the file under a temporary name in the same folder and renames it, so
// that it never exists half made under its own name. The name is reserved before there is anything
// to write: a new name by the empty profile itself, an existing file by a lock on it until it is
// replaced. Files that SQLite left beside an older profile of the same name are removed, because
// SQLite would take them for those of the new one.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "sweep.h"
#include "writer.h"

enum { MOST_NAMES = 1000 }; // that are tried for a new file

static const char *const leftovers[] = {"-wal", "-shm", "-journal"};

// --- Locks of recorders --------------------------------------------------------------------------

// On file systems without such locks, other recorders are not noticed.
enum hold { HELD, TAKEN };

static enum hold lock(int file)
{
    return !profile_lock(file) && (errno == EAGAIN || errno == EACCES) ? TAKEN : HELD;
}

static bool is_file_at(int file, const char *path)
{
    struct stat held, named;
    return fstat(file, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

// Creates a file beside the profile and locks it. Returns false with errno if another process has
// the name: one in another container with the same number, or one that took the file for that of a
// killed recorder before it was locked, and will remove it.
static bool make_locked(struct profile_place *place, const char *name)
{
    const int file = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    if (lock(file) == TAKEN || !is_file_at(file, name)) {
        close(file);
        errno = EEXIST;
        return false;
    }
    place->lock = file;
    return true;
}

static enum base_code make_empty(struct profile_place *place, const char *path,
                                 struct base_error *error)
{
    struct base_buf name = {0};
    bool made = false;
    errno = EEXIST;
    for (unsigned attempt = 0; attempt < MOST_NAMES && !made && errno == EEXIST; attempt++) {
        base_buf_clear(&name);
        profile_plain_path(&name, place->path);
        base_buf_printf(&name, PROFILE_NEW_SUFFIX "%d", (int)gettid());
        if (attempt)
            base_buf_printf(&name, "%03u", attempt);
        if (name.failed)
            break;
        made = make_locked(place, name.text);
    }
    if (made) {
        place->made = name.text;
        return BASE_OK;
    }
    enum base_code code =
        name.failed ? base_no_memory(error)
        : errno == ENAMETOOLONG
            ? base_fail(error, BASE_IO, "the name is too long: %s", path)
            : base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
    base_buf_fini(&name);
    return code;
}

// Creates the file that becomes the profile. Messages name `path`.
static enum base_code make_new(struct profile_place *place, const char *path,
                               struct base_error *error)
{
    enum base_code code = make_empty(place, path, error);
    if (code != BASE_OK)
        return code;
    sqlite3 *db = NULL;
    int result =
        sqlite3_open_v2(place->made, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = profile_fill(db);
    if (result != SQLITE_OK)
        code = profile_sqlite_fail(db, result, "write", path, error);
    sqlite3_close(db);
    return code;
}

static bool has_beside(const char *path, const char *suffix)
{
    struct base_buf name = {0};
    struct stat status;
    base_buf_printf(&name, "%s%s", path, suffix);
    const bool has = name.failed || lstat(name.text, &status) == 0;
    base_buf_fini(&name);
    return has;
}

// Returns true if a recorder reserved the file and was killed before it wrote anything. There is no
// log or journal then.
static bool is_unused(const char *path)
{
    struct profile *profile;
    for (unsigned i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++) {
        if (has_beside(path, leftovers[i]))
            return false;
    }
    if (profile_open(path, &profile, NULL) != BASE_OK)
        return false;
    const bool unused = !profile_meta(profile)->complete && profile->strings.count == 0;
    profile_close(profile);
    return unused;
}

// --- Places --------------------------------------------------------------------------------------

// Returns the file that the name leads to, so that a link stays and its target is replaced. The
// caller frees it.
static char *follow_links(const char *path, struct base_error *error)
{
    struct stat status;
    errno = 0;
    const bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    char *place = is_link ? realpath(path, NULL) : strdup(path);
    if (!place && is_link)
        base_fail(error, BASE_IO, "cannot write %s, the target of the link: %s", path,
                  strerror(errno));
    else if (!place)
        base_no_memory(error);
    return place;
}

// Fails unless the existing file is a regular file. Messages name `name`.
static enum base_code check_kind(const char *path, const char *name, struct base_error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode))
        return BASE_OK;
    if (S_ISDIR(status.st_mode))
        return base_fail(error, BASE_CONFLICT, "%s is a folder", name);
    return base_fail(error, BASE_CONFLICT, "%s is not a regular file; glint does not replace it",
                     name);
}

// Renames the file unless the name exists; then returns -1 with EEXIST. On file systems that cannot
// do this in one step it creates an empty file first, which only one process can.
static int move_to_new(const char *name, const char *path)
{
    int result = renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE);
    if (result == 0 || (errno != EINVAL && errno != ENOSYS))
        return result;
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0)
        return -1;
    close(file);
    return rename(name, path);
}

static void remove_leftovers(const char *path)
{
    for (unsigned i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++) {
        struct base_buf name = {0};
        base_buf_printf(&name, "%s%s", path, leftovers[i]);
        if (!name.failed)
            unlink(name.text);
        base_buf_fini(&name);
    }
}

// Locks the existing file if it may be replaced. Returns BASE_NOT_FOUND if it no longer exists.
static enum base_code hold_old(struct profile_place *place, bool overwrite, bool *taken,
                               struct base_error *error)
{
    enum base_code code = check_kind(place->path, place->path, error);
    if (code != BASE_OK)
        return code;
    // If this process cannot write the file, no recorder of the same user does. O_NONBLOCK, since
    // it may have become a pipe meanwhile.
    place->old_lock = open(place->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (place->old_lock < 0 && errno == ENOENT)
        return BASE_NOT_FOUND;
    if (place->old_lock >= 0 && lock(place->old_lock) == TAKEN) {
        *taken = true;
        return base_fail(error, BASE_CONFLICT, "%s is being written by another glint", place->path);
    }
    if (place->old_lock >= 0 && !is_file_at(place->old_lock, place->path))
        return BASE_NOT_FOUND;
    if (overwrite || is_unused(place->path))
        return BASE_OK;
    return base_fail(error, BASE_CONFLICT, "%s already exists", place->path);
}

// Renames the new file, or locks the existing one.
static enum base_code hold_name(struct profile_place *place, bool overwrite, bool *taken,
                                struct base_error *error)
{
    for (;;) {
        if (move_to_new(place->made, place->path) == 0) {
            // Files that SQLite left are removed only now: before, they may have belonged to
            // another recorder.
            remove_leftovers(place->path);
            free(place->made);
            place->made = NULL;
            return BASE_OK;
        }
        if (errno != EEXIST)
            return base_fail(error, BASE_IO, "cannot write %s: %s", place->path, strerror(errno));
        enum base_code code = hold_old(place, overwrite, taken, error);
        if (code != BASE_NOT_FOUND)
            return code;
        if (place->old_lock >= 0)
            close(place->old_lock);
        place->old_lock = -1;
    }
}

enum base_code profile_reserve(const char *path, bool overwrite, struct profile_place **place,
                               bool *taken, struct base_error *error)
{
    *place = NULL;
    *taken = false;
    struct profile_place *made = calloc(1, sizeof(*made));
    BASE_RETURN_IF_NO_MEMORY(!made, error);
    made->lock = made->old_lock = -1;
    made->path = follow_links(path, error);
    enum base_code code = made->path ? check_kind(made->path, path, error) : BASE_IO;
    // The profile is created completely now, so that errors show: permissions, space, long names.
    if (code == BASE_OK) {
        profile_sweep(made->path);
        code = make_new(made, path, error);
    }
    if (code == BASE_OK)
        code = hold_name(made, overwrite, taken, error);
    if (code == BASE_OK)
        *place = made;
    else
        profile_place_free(made);
    return code;
}

void profile_place_free(struct profile_place *place)
{
    if (place->made)
        unlink(place->made);
    if (place->lock >= 0)
        close(place->lock);
    if (place->old_lock >= 0)
        close(place->old_lock);
    free(place->made);
    free(place->path);
    free(place);
}

void profile_release(struct profile_place *place)
{
    if (!place)
        return;
    if (!place->made && place->lock >= 0 && is_file_at(place->lock, place->path))
        unlink(place->path);
    profile_place_free(place);
}

enum base_code profile_place_settle(struct profile_place *place, struct base_error *error)
{
    if (!place->made)
        return BASE_OK;
    enum base_code code = check_kind(place->path, place->path, error);
    if (code != BASE_OK)
        return code;
    remove_leftovers(place->path);
    BASE_RETURN_IF(rename(place->made, place->path) != 0, error, BASE_IO, "cannot write %s: %s",
                   place->path, strerror(errno));
    free(place->made);
    place->made = NULL;
    return BASE_OK;
}
