// SPDX-License-Identifier: Apache-2.0
// How a profile comes into being: made under another name beside its place, then moved there, so
// that under its own name it is never half made. Files that SQLite left beside an older one of the
// same name would be taken for the new one's, so they go.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer.h"

static const char *const leftovers[] = {"-wal", "-shm", "-journal"};

static int fill_words(sqlite3 *db, const struct profile_words *words)
{
    char *sql =
        sqlite3_mprintf("CREATE TABLE \"%w\"(value INTEGER PRIMARY KEY, word TEXT)", words->table);
    int result = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    for (unsigned i = 0; i < words->count && result == SQLITE_OK; i++) {
        if (!words->words[i])
            continue;
        sql =
            sqlite3_mprintf("INSERT INTO \"%w\" VALUES(%u, %Q)", words->table, i, words->words[i]);
        result = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    return result;
}

static int fill(sqlite3 *db)
{
    // Nobody sees the file before it is whole, so nothing has to be undone.
    int result = sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN", NULL,
                              NULL, NULL);
    for (unsigned i = 0; i < PROFILE_WORDS_TABLES && result == SQLITE_OK; i++)
        result = fill_words(db, &profile_words[i]);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, profile_schema, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, profile_probes_schema, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, profile_uses_schema, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, profile_transfers_schema, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, profile_corrections_schema, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db, profile_stacks_schema, NULL, NULL, NULL);
    if (result != SQLITE_OK)
        return result;
    char *sql = sqlite3_mprintf("INSERT INTO meta VALUES(1, %d, %d, %Q, 0, %d, NULL);"
                                "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
                                PROFILE_MAJOR, PROFILE_MINOR, GLINT_VERSION, PROFILE_RECORDER_LOST,
                                PROFILE_APPLICATION_ID, PROFILE_VERSION);
    result = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return result;
}

// Makes the file that will be the profile; `path` is the one that messages name.
static enum base_code make_new(const char *name, const char *path, struct base_error *error)
{
    unlink(name); // of a process that had our number and died here
    int file = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    BASE_RETURN_IF(file < 0, error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
    close(file);
    sqlite3 *db = NULL;
    int result = sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = fill(db);
    enum base_code code =
        result == SQLITE_OK ? BASE_OK : profile_sqlite_fail(db, result, "write", path, error);
    sqlite3_close(db);
    return code;
}

static enum base_code already_there(const char *path, struct base_error *error)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return base_fail(error, BASE_CONFLICT, "%s is a folder", path);
    return base_fail(error, BASE_CONFLICT, "%s is already there", path);
}

// Gives the file its name. Without `overwrite` of all that try at once one wins; file systems that
// cannot do this in one step get an empty file first, which only one can make.
static enum base_code move(const char *name, const char *path, bool overwrite,
                           struct base_error *error)
{
    int result = overwrite ? rename(name, path)
                           : renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE);
    if (result != 0 && !overwrite && (errno == EINVAL || errno == ENOSYS)) {
        int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (file >= 0) {
            close(file);
            result = rename(name, path);
        }
    }
    if (result == 0)
        return BASE_OK;
    if (errno == EEXIST || errno == EISDIR)
        return already_there(path, error);
    return base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
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

enum base_code profile_make_file(const char *path, bool overwrite, struct base_error *error)
{
    struct stat status;
    if (stat(path, &status) == 0 && (!overwrite || S_ISDIR(status.st_mode)))
        return already_there(path, error);
    struct base_buf name = {0};
    profile_plain_path(&name, path);
    base_buf_printf(&name, ".new-%d", (int)gettid());
    if (name.failed) {
        base_buf_fini(&name);
        return base_fail(error, BASE_NO_MEMORY, "out of memory");
    }
    enum base_code code = make_new(name.text, path, error);
    // What lies beside an old profile goes before it is replaced, and what lies beside none only
    // once the name is ours: it may be that of another recorder's.
    if (code == BASE_OK && overwrite)
        remove_leftovers(path);
    if (code == BASE_OK)
        code = move(name.text, path, overwrite, error);
    if (code == BASE_OK && !overwrite)
        remove_leftovers(path);
    if (code != BASE_OK)
        unlink(name.text);
    base_buf_fini(&name);
    return code;
}
