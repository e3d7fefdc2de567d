// SPDX-License-Identifier: Apache-2.0
// Opens a profile as a database without changing any file, even if the profile is malicious.
//
// A finished profile is opened as immutable: SQLite then takes no locks and ignores files beside
// it. A profile that this user's recorder is writing is opened read-only with locks, so that one
// read transaction sees a consistent state; its log (FILE-wal) and FILE-shm are only read. Whatever
// else lies beside an unfinished profile may be hostile, and SQLite would trust it: it waits for
// locks, reads shared memory as it is, and as root changes the owners of files. recover.c makes a
// private copy of such a profile, without FILE-shm, and SQLite recovers that.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "sweep.h"

enum {
    HEAD_BYTES = 100, // of an SQLite file
    MOST_BYTES_OF_A_CELL = 64 << 20,
    WAIT_MS = 2000, // for a writer that cannot use a log
};

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Returns the length of the name of a profile without ".glint"; 0 if it is none, or has characters
// that do not belong on a terminal.
static size_t stem_length(const char *name)
{
    static const char extension[] = ".glint";
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        if (name[i] <= ' ' || name[i] > '~')
            return 0;
    }
    return length >= sizeof(extension) && strcmp(name + length - strlen(extension), extension) == 0
               ? length - strlen(extension)
               : 0;
}

// Fails, and names the profile in the folder that was probably meant: its name differs in few
// letters, or a process or a rank was added to it.
static enum base_code fail_missing(const char *path, struct base_error *error)
{
    enum { MOST_NAMES = 1000 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t folder_bytes = (size_t)(name - path), stem = stem_length(name);
    char *stems[MOST_NAMES];
    size_t count = 0;
    struct base_buf folder = {0};
    base_buf_add(&folder, path, folder_bytes);
    DIR *names = folder.failed ? NULL : opendir(folder_bytes ? folder.text : ".");
    const struct dirent *entry;
    while (names && count < MOST_NAMES && (entry = readdir(names))) {
        const size_t length = stem_length(entry->d_name);
        stems[count] = length ? strndup(entry->d_name, length) : NULL;
        count += stems[count] != NULL;
    }
    if (names)
        closedir(names);
    char *word = stem ? strndup(name, stem) : strdup(name);
    const char *nearest =
        word && word[0] ? base_nearest(word, (const char *const *)stems, count) : NULL;
    base_fail(error, BASE_NOT_FOUND, "there is no file %s%s%.*s%s%s", path,
              nearest ? " (did you mean '" : "", nearest ? (int)folder_bytes : 0, path,
              nearest ? nearest : "", nearest ? ".glint'?)" : "");
    free(word);
    for (size_t i = 0; i < count; i++)
        free(stems[i]);
    base_buf_fini(&folder);
    return BASE_NOT_FOUND;
}

static enum base_code check_path(const char *path, struct base_error *error)
{
    struct stat status;
    int result = stat(path, &status);
    if (result != 0 && errno == ENOENT)
        return fail_missing(path, error);
    BASE_RETURN_IF(result != 0, error, BASE_IO, "cannot read %s: %s", path, strerror(errno));
    BASE_RETURN_IF(S_ISDIR(status.st_mode), error, BASE_INVALID, "%s is a folder, not a profile",
                   path);
    BASE_RETURN_IF(!S_ISREG(status.st_mode), error, BASE_INVALID, "%s is not a file", path);
    BASE_RETURN_IF(status.st_size == 0, error, BASE_INVALID, "%s is empty, not a profile", path);
    return BASE_OK;
}

static enum base_code check_job_head(const char *path, const unsigned char head[HEAD_BYTES],
                                     struct base_error *error)
{
    const uint32_t version = big_endian(head + 60);
    BASE_RETURN_IF(memcmp(head, "SQLite format 3", 16) != 0 ||
                       big_endian(head + 68) != PROFILE_JOB_APPLICATION_ID,
                   error, BASE_INVALID, "%s is not a job profile", path);
    BASE_RETURN_IF(version / 1000 != PROFILE_JOB_MAJOR, error, BASE_UNSUPPORTED,
                   "%s is a job profile of version %u.%u; this glint (" GLINT_VERSION
                   ") reads versions %d.x",
                   path, version / 1000, version % 1000, PROFILE_JOB_MAJOR);
    BASE_RETURN_IF(head[18] != 1, error, BASE_CORRUPT, "%s is damaged", path); // it has no log
    return BASE_OK;
}

static enum base_code check_head(const char *path, const unsigned char head[HEAD_BYTES],
                                 struct base_error *error)
{
    BASE_RETURN_IF(memcmp(head, "SQLite format 3", 16) != 0, error, BASE_INVALID,
                   "%s is not a profile", path);
    BASE_RETURN_IF(big_endian(head + 68) == PROFILE_JOB_APPLICATION_ID, error, BASE_INVALID,
                   "%s is a job profile, which glint report, check, diff, query and merge read",
                   path);
    BASE_RETURN_IF(big_endian(head + 68) != PROFILE_APPLICATION_ID, error, BASE_INVALID,
                   "%s is an SQLite database, but not a profile of glint", path);
    uint32_t version = big_endian(head + 60);
    BASE_RETURN_IF(version / 1000 != PROFILE_MAJOR, error, BASE_UNSUPPORTED,
                   "%s is a profile of version %u.%u; this glint (" GLINT_VERSION
                   ") reads versions %u.x%s",
                   path, version / 1000, version % 1000, PROFILE_MAJOR,
                   version / 1000 > PROFILE_MAJOR ? ": use a newer glint" : "");
    return BASE_OK;
}

// --- Files beside the profile --------------------------------------------------------------------

enum beside { NOTHING, FILE_BESIDE, NO_FILE }; // an empty file counts as NOTHING, a pipe as NO_FILE

static enum beside look_beside(const char *path, const char *suffix)
{
    struct base_buf name = {0};
    struct stat status;
    base_buf_printf(&name, "%s%s", path, suffix);
    enum beside found = NOTHING;
    if (!name.failed && stat(name.text, &status) == 0)
        found = !S_ISREG(status.st_mode) ? NO_FILE : status.st_size > 0 ? FILE_BESIDE : NOTHING;
    base_buf_fini(&name);
    return found;
}

// SQLite opens all three when it reads with locks, and would wait forever on a pipe.
static enum base_code check_files_beside(const char *path, struct base_error *error)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    for (unsigned i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        BASE_RETURN_IF(look_beside(path, suffixes[i]) == NO_FILE, error, BASE_INVALID,
                       "cannot read %s: %s%s is not a file", path, path, suffixes[i]);
    return BASE_OK;
}

// Returns whether SQLite may use a file beside the profile as it is: it belongs to this user and
// has no other name. A missing file may be used.
static bool is_own(const char *path, const char *suffix)
{
    struct base_buf name = {0};
    struct stat status;
    base_buf_printf(&name, "%s%s", path, suffix);
    const bool own = !name.failed && (lstat(name.text, &status) != 0
                                          ? errno == ENOENT
                                          : S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                                                status.st_nlink == 1);
    base_buf_fini(&name);
    return own;
}

// Returns whether a recorder of this user is writing the profile.
static bool is_being_written(const char *path)
{
    return is_own(path, "") && is_own(path, "-wal") && is_own(path, "-shm") &&
           is_own(path, "-journal") && profile_is_locked(path);
}

// --- Ways to open --------------------------------------------------------------------------------

static void put_uri_path(struct base_buf *uri, const char *path)
{
    base_buf_puts(uri, path[0] == '/' ? "file://" : "file:./");
    for (; *path; path++) {
        if (strchr("%?#", *path))
            base_buf_printf(uri, "%%%02X", (unsigned)(unsigned char)*path);
        else
            base_buf_putc(uri, *path);
    }
}

// Opens it with these URI parameters and begins the read transaction. Returns an SQLite result.
static int open_with(struct profile *profile, const char *path, const char *parameters, int flags)
{
    struct base_buf uri = {0};
    put_uri_path(&uri, path);
    base_buf_printf(&uri, "?%s", parameters);
    sqlite3_close(profile->db);
    profile->db = NULL;
    errno = 0;
    int result = uri.failed ? SQLITE_NOMEM
                            : sqlite3_open_v2(uri.text, &profile->db,
                                              flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    base_buf_fini(&uri);
    if (result != SQLITE_OK)
        return result;
    sqlite3_extended_result_codes(profile->db, 1);
    sqlite3_busy_timeout(profile->db, WAIT_MS);
    sqlite3_db_config(profile->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(profile->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(profile->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(profile->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_limit(profile->db, SQLITE_LIMIT_LENGTH, MOST_BYTES_OF_A_CELL);
    sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED, 0);
    return SQLITE_OK;
}

static int begin(struct profile *profile)
{
    return sqlite3_exec(profile->db,
                        "PRAGMA cell_size_check=ON; PRAGMA query_only=ON; BEGIN;"
                        "SELECT 1 FROM sqlite_schema LIMIT 1",
                        NULL, NULL, NULL);
}

static int open_immutable(struct profile *profile)
{
    return open_with(profile, profile->path, "immutable=1", SQLITE_OPEN_READONLY);
}

static int open_locked(struct profile *profile)
{
    int result = open_with(profile, profile->path, "readonly_shm=1", SQLITE_OPEN_READONLY);
    return result == SQLITE_OK ? begin(profile) : result;
}

static enum base_code open_recovered(struct profile *profile, struct base_error *error)
{
    struct profile_copy_folder copy;
    enum base_code code = profile_copy_unfinished(profile->path, &copy, error);
    if (code != BASE_OK)
        return code;
    int result = open_with(profile, copy.file, "mode=rw", SQLITE_OPEN_READWRITE);
    if (result == SQLITE_OK)
        result = begin(profile);
    if (result != SQLITE_OK)
        code = profile_read_fail(profile, result, error);
    profile_remove_copy(&copy); // SQLite has opened the files that it needs
    return code;
}

// Reads the first bytes of the file and its size through SQLite. If this process writes the same
// profile, closing another descriptor would drop the writer's locks.
static int read_head(struct profile *profile, unsigned char head[HEAD_BYTES], sqlite3_int64 *size)
{
    sqlite3_file *file = NULL;
    int result = sqlite3_file_control(profile->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result != SQLITE_OK || !file || !file->pMethods)
        return SQLITE_CANTOPEN;
    result = file->pMethods->xRead(file, head, HEAD_BYTES, 0);
    if (result == SQLITE_IOERR_SHORT_READ) // the rest is zeros
        result = SQLITE_OK;
    return result == SQLITE_OK ? file->pMethods->xFileSize(file, size) : result;
}

// Checks that the file consists of whole pages. SQLite notices missing pages, but reads the missing
// rest of the last one as zeros.
static bool ends_within_a_page(const unsigned char head[HEAD_BYTES], sqlite3_int64 size)
{
    const unsigned page = (unsigned)head[16] << 8 | head[17]; // 1 stands for 65536
    return size % (page == 1 ? 65536 : page ? page : 1) != 0;
}

// Returns true if the file, without those beside it, says that its recorder has finished it.
static bool is_complete(struct profile *profile)
{
    sqlite3_stmt *at = NULL;
    bool complete = sqlite3_prepare_v2(profile->db, "SELECT complete FROM meta WHERE id=1", -1, &at,
                                       NULL) == SQLITE_OK &&
                    sqlite3_step(at) == SQLITE_ROW && sqlite3_column_int(at, 0) != 0;
    sqlite3_finalize(at);
    return complete;
}

// The file is open as immutable, and stays so if no file beside it can belong to it.
static enum base_code open_unfinished(struct profile *profile, bool log_mode,
                                      struct base_error *error)
{
    const bool has_log = look_beside(profile->path, "-wal") == FILE_BESIDE;
    enum base_code code = check_files_beside(profile->path, error);
    if (code != BASE_OK)
        return code;
    // A recorder that writes a log has FILE-shm open: without FILE-shm there is no writer.
    if (!is_being_written(profile->path) ||
        (log_mode && has_log && look_beside(profile->path, "-shm") != FILE_BESIDE))
        return open_recovered(profile, error);
    int result = open_locked(profile);
    if ((result & 0xff) == SQLITE_READONLY) // it cannot be read without writing
        return open_recovered(profile, error);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

enum base_code profile_open_database(struct profile *profile, struct base_error *error)
{
    unsigned char head[HEAD_BYTES] = {0};
    sqlite3_int64 size = 0;
    enum base_code code = check_path(profile->path, error);
    if (code != BASE_OK)
        return code;
    int result = open_immutable(profile);
    if (result == SQLITE_OK)
        result = read_head(profile, head, &size);
    if (result != SQLITE_OK)
        return profile_read_fail(profile, result, error);
    code = profile->is_job ? check_job_head(profile->path, head, error)
                           : check_head(profile->path, head, error);
    if (code != BASE_OK)
        return code;
    if (profile->is_job) { // written as a whole: complete if it has all of its pages
        if (ends_within_a_page(head, size))
            return profile_damaged(profile, error);
        result = begin(profile);
        return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
    }
    profile->minor = big_endian(head + 60) % 1000;
    const bool log_mode = head[18] == 2;
    const bool has_log = look_beside(profile->path, "-wal") != NOTHING;
    profile->lacks_log = log_mode && !has_log;
    if (!(log_mode && has_log) && ends_within_a_page(head, size))
        return profile_damaged(profile, error);
    // The mark of completeness is written last and alone, so it needs no journal.
    if (log_mode ? has_log : !is_complete(profile))
        return open_unfinished(profile, log_mode, error);
    result = begin(profile);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

bool profile_is_job(const char *path)
{
    unsigned char head[HEAD_BYTES] = {0};
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false; // opening a pipe would wait
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool whole = file >= 0 && pread(file, head, sizeof(head), 0) == (ssize_t)sizeof(head);
    if (file >= 0)
        close(file);
    return whole && memcmp(head, "SQLite format 3", 16) == 0 &&
           big_endian(head + 68) == PROFILE_JOB_APPLICATION_ID;
}
