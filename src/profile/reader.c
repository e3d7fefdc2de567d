// SPDX-License-Identifier: Apache-2.0
// Opening a profile, with the checks that tell a file that is none, is newer or is damaged, and
// what is read of every profile: its meta data, its program and its texts. All reading is one read
// transaction, so that a file that is being written looks the same from begin to end.
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    HEAD_BYTES = 100, // of an SQLite file
    MOST_BYTES_OF_A_CELL = 64 << 20,
    WAIT_MS = 2000, // for a writer that cannot use a log
};

enum base_code profile_damaged(struct profile *profile, struct base_error *error)
{
    if (profile->lacks_log)
        return base_fail(error, BASE_CORRUPT,
                         "%s is not whole: its recorder was killed, and the rest of it is in "
                         "%s-wal, which is not here",
                         profile->path, profile->path);
    return base_fail(error, BASE_CORRUPT, "%s is damaged", profile->path);
}

enum base_code profile_read_fail(struct profile *profile, int result, struct base_error *error)
{
    if ((result & 0xff) == SQLITE_CORRUPT)
        return profile_damaged(profile, error);
    return profile_sqlite_fail(profile->db, result, "read", profile->path, error);
}

const char *profile_text_at(const struct profile *profile, sqlite3_stmt *at, int column)
{
    int64_t number = sqlite3_column_int64(at, column);
    return number > 0 && (uint64_t)number <= profile->strings.count
               ? profile->strings.items[number - 1]
               : NULL;
}

bool profile_has(const struct profile *profile, enum profile_table table)
{
    return profile_tables[table].since <= profile->minor;
}

enum base_code profile_read_prepare(struct profile *profile, const char *sql, sqlite3_stmt **at,
                                    struct base_error *error)
{
    errno = 0;
    int result = sqlite3_prepare_v2(profile->db, sql, -1, at, NULL);
    if (result == SQLITE_ERROR) // the tables are not those of this version
        return profile_damaged(profile, error);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

enum base_code profile_walk(struct profile *profile, const char *sql, profile_take_row *take,
                            void *state, struct base_error *error)
{
    sqlite3_stmt *at;
    int result = SQLITE_DONE;
    enum base_code code = profile_read_prepare(profile, sql, &at, error);
    if (code != BASE_OK)
        return code;
    while (code == BASE_OK && (result = sqlite3_step(at)) == SQLITE_ROW)
        code = take(profile, at, state, error);
    if (code == BASE_OK && result != SQLITE_DONE)
        code = profile_read_fail(profile, result, error);
    sqlite3_finalize(at);
    return code == BASE_NOT_FOUND ? BASE_OK : code;
}

// --- What is read of every profile ---------------------------------------------------------------

static const char *keep_text(struct profile *profile, sqlite3_stmt *at, int column)
{
    const char *text = (const char *)sqlite3_column_text(at, column);
    return base_alloc_text(&profile->arena, text ? text : "",
                           text ? (size_t)sqlite3_column_bytes(at, column) : 0);
}

static enum base_code take_string(struct profile *profile, sqlite3_stmt *at, void *state,
                                  struct base_error *error)
{
    (void)state;
    if (sqlite3_column_int64(at, 0) != (int64_t)profile->strings.count + 1)
        return profile_damaged(profile, error);
    const char **slot = base_array_push(&profile->strings);
    if (slot)
        *slot = keep_text(profile, at, 1);
    return slot && *slot ? BASE_OK : base_fail(error, BASE_NO_MEMORY, "out of memory");
}

static enum base_code take_meta(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    int ending = sqlite3_column_int(at, 4);
    profile->meta = (struct profile_meta){.major = (uint32_t)sqlite3_column_int64(at, 0),
                                          .minor = (uint32_t)sqlite3_column_int64(at, 1),
                                          .glint = keep_text(profile, at, 2),
                                          .complete = sqlite3_column_int(at, 3) != 0,
                                          .ending = ending > 0 && ending < PROFILE_ENDINGS
                                                        ? (enum profile_ending)ending
                                                        : PROFILE_RECORDER_LOST,
                                          .code = sqlite3_column_int(at, 5)};
    *(bool *)state = true;
    return profile->meta.glint ? BASE_OK : base_fail(error, BASE_NO_MEMORY, "out of memory");
}

static enum base_code take_program(struct profile *profile, sqlite3_stmt *at, void *state,
                                   struct base_error *error)
{
    (void)state;
    (void)error;
    profile->program =
        (struct profile_program){.executable = profile_text_at(profile, at, 0),
                                 .folder = profile_text_at(profile, at, 1),
                                 .pid = sqlite3_column_int(at, 2),
                                 .parent = sqlite3_column_int(at, 3),
                                 .driver_version = (uint32_t)sqlite3_column_int64(at, 4),
                                 .start_monotonic_ns = sqlite3_column_int64(at, 5),
                                 .start_unix_ns = sqlite3_column_int64(at, 6),
                                 .simulated = sqlite3_column_int(at, 7) != 0,
                                 .timestamps = sqlite3_column_int(at, 8) != 0,
                                 .has_end = sqlite3_column_type(at, 9) != SQLITE_NULL,
                                 .end_ns = sqlite3_column_int64(at, 9),
                                 .calls_made = (uint64_t)sqlite3_column_int64(at, 10),
                                 .objects_made = (uint64_t)sqlite3_column_int64(at, 11)};
    return BASE_OK;
}

struct arguments {
    BASE_ARRAY(const char *) texts;
};

static enum base_code take_argument(struct profile *profile, sqlite3_stmt *at, void *state,
                                    struct base_error *error)
{
    struct arguments *arguments = state;
    const char **slot = base_array_push_in(&arguments->texts, &profile->arena);
    BASE_RETURN_IF(!slot, error, BASE_NO_MEMORY, "out of memory");
    const char *text = profile_text_at(profile, at, 0);
    *slot = text ? text : "";
    return BASE_OK;
}

// That the tables are tables: in a file that somebody made to harm, views could stand in their
// place.
static enum base_code take_name(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    (void)error;
    const char *name = (const char *)sqlite3_column_text(at, 0);
    for (unsigned i = 0; name && i < PROFILE_TABLE_COUNT; i++)
        *(unsigned *)state += profile_has(profile, (enum profile_table)i) &&
                              strcmp(profile_tables[i].name, name) == 0;
    *(unsigned *)state += name && (strcmp(name, "meta") == 0 || strcmp(name, "strings") == 0);
    return BASE_OK;
}

static enum base_code load(struct profile *profile, struct base_error *error)
{
    int result = sqlite3_exec(profile->db,
                              "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
                              "PRAGMA query_only=ON; BEGIN",
                              NULL, NULL, NULL);
    if (result != SQLITE_OK)
        return profile_read_fail(profile, result, error);
    unsigned tables = 0, wanted = 2; // beside those of the list
    for (unsigned i = 0; i < PROFILE_TABLE_COUNT; i++)
        wanted += profile_has(profile, (enum profile_table)i);
    bool has_meta = false;
    struct arguments arguments = {{0}};
    enum base_code code =
        profile_walk(profile, "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage>0",
                     take_name, &tables, error);
    if (code == BASE_OK && tables != wanted)
        code = profile_damaged(profile, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT major, minor, glint, complete, ending, code FROM meta "
                            "WHERE id=1",
                            take_meta, &has_meta, error);
    if (code == BASE_OK && !has_meta)
        code = profile_damaged(profile, error);
    if (code == BASE_OK)
        code = profile_walk(profile, "SELECT id, text FROM strings ORDER BY id", take_string, NULL,
                            error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT executable, folder, pid, parent, driver_version,"
                            " start_monotonic, start_unix, simulated, timestamps, end, calls,"
                            " objects FROM program LEFT JOIN program_end USING(id) WHERE id=1",
                            take_program, NULL, error);
    if (code == BASE_OK)
        code = profile_walk(profile, "SELECT text FROM arguments ORDER BY position", take_argument,
                            &arguments, error);
    profile->program.arguments = arguments.texts.items;
    profile->program.argument_count = (uint32_t)arguments.texts.count;
    return code;
}

// --- Opening -------------------------------------------------------------------------------------

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static enum base_code check_path(const char *path, struct base_error *error)
{
    struct stat status;
    int result = stat(path, &status);
    BASE_RETURN_IF(result != 0 && errno == ENOENT, error, BASE_NOT_FOUND, "there is no file %s",
                   path);
    BASE_RETURN_IF(result != 0, error, BASE_IO, "cannot read %s: %s", path, strerror(errno));
    BASE_RETURN_IF(S_ISDIR(status.st_mode), error, BASE_INVALID, "%s is a folder, not a profile",
                   path);
    BASE_RETURN_IF(!S_ISREG(status.st_mode), error, BASE_INVALID, "%s is not a file", path);
    BASE_RETURN_IF(status.st_size == 0, error, BASE_INVALID, "%s is empty, not a profile", path);
    return BASE_OK;
}

static enum base_code check_head(const char *path, const unsigned char head[HEAD_BYTES],
                                 struct base_error *error)
{
    BASE_RETURN_IF(memcmp(head, "SQLite format 3", 16) != 0, error, BASE_INVALID,
                   "%s is not a profile", path);
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

static bool lies_beside(const char *path, const char *suffix)
{
    struct base_buf name = {0};
    struct stat status;
    base_buf_printf(&name, "%s%s", path, suffix);
    bool there = !name.failed && stat(name.text, &status) == 0 && status.st_size > 0;
    base_buf_fini(&name);
    return there;
}

// Adds a path to a URI.
static void put_uri_path(struct base_buf *uri, const char *path)
{
    for (; *path; path++) {
        if (strchr("%?#", *path))
            base_buf_printf(uri, "%%%02X", (unsigned)(unsigned char)*path);
        else
            base_buf_putc(uri, *path);
    }
}

enum way { WAY_READ, WAY_ALONE, WAY_REPAIR };

static int open_database(struct profile *profile, enum way way)
{
    struct base_buf name = {0};
    int flags = SQLITE_OPEN_NOMUTEX;
    flags |= way == WAY_REPAIR ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    if (way == WAY_ALONE) {
        base_buf_puts(&name, profile->path[0] == '/' ? "file://" : "file:./");
        put_uri_path(&name, profile->path);
        base_buf_puts(&name, "?immutable=1");
        flags |= SQLITE_OPEN_URI;
    } else {
        profile_plain_path(&name, profile->path);
    }
    sqlite3_close(profile->db);
    profile->db = NULL;
    errno = 0;
    int result = name.failed ? SQLITE_NOMEM : sqlite3_open_v2(name.text, &profile->db, flags, NULL);
    base_buf_fini(&name);
    return result;
}

// The first bytes of the file, and its size, read by SQLite: where this process writes the same
// profile, closing a descriptor of our own would drop the writer's locks.
static int read_head(struct profile *profile, unsigned char head[HEAD_BYTES], sqlite3_int64 *size)
{
    sqlite3_file *file = NULL;
    int result = sqlite3_file_control(profile->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result != SQLITE_OK || !file || !file->pMethods)
        return SQLITE_CANTOPEN;
    result = file->pMethods->xRead(file, head, HEAD_BYTES, 0);
    if (result == SQLITE_IOERR_SHORT_READ) // then zeros follow
        result = SQLITE_OK;
    return result == SQLITE_OK ? file->pMethods->xFileSize(file, size) : result;
}

// SQLite writes whole pages. It notices where some are missing, but takes what is missing of the
// last one for zeros.
static bool ends_within_a_page(const unsigned char head[HEAD_BYTES], sqlite3_int64 size)
{
    const unsigned page = (unsigned)head[16] << 8 | head[17]; // 1 stands for 65536
    return size % (page == 1 ? 65536 : page ? page : 1) != 0;
}

// Opens the file in the way that its state asks for.
static enum base_code open_file(struct profile *profile, struct base_error *error)
{
    unsigned char head[HEAD_BYTES] = {0};
    sqlite3_int64 size = 0;
    int result = open_database(profile, WAY_READ);
    if (result == SQLITE_OK)
        result = read_head(profile, head, &size);
    if (result != SQLITE_OK)
        return profile_read_fail(profile, result, error);
    enum base_code code = check_head(profile->path, head, error);
    if (code != BASE_OK)
        return code;
    profile->minor = big_endian(head + 60) % 1000;
    // Without its log nobody is writing it; SQLite would want to make one, and where it cannot, not
    // read the file.
    const bool has_log = lies_beside(profile->path, "-wal");
    profile->lacks_log = head[18] == 2 && !has_log;
    if (!has_log && ends_within_a_page(head, size))
        return profile_damaged(profile, error);
    if (profile->lacks_log)
        result = open_database(profile, WAY_ALONE);
    else if (lies_beside(profile->path, "-journal")) // left half done by a killed writer
        result = open_database(profile, WAY_REPAIR);
    if (result != SQLITE_OK)
        return profile_read_fail(profile, result, error);
    sqlite3_extended_result_codes(profile->db, 1);
    sqlite3_busy_timeout(profile->db, WAIT_MS);
    sqlite3_db_config(profile->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(profile->db, SQLITE_LIMIT_LENGTH, MOST_BYTES_OF_A_CELL);
    return BASE_OK;
}

enum base_code profile_open(const char *path, struct profile **profile, struct base_error *error)
{
    *profile = NULL;
    enum base_code code = check_path(path, error);
    if (code != BASE_OK)
        return code;
    struct profile *made = calloc(1, sizeof(*made));
    if (made)
        made->path = strdup(path);
    if (!made || !made->path) {
        free(made);
        return base_fail(error, BASE_NO_MEMORY, "out of memory");
    }
    base_arena_init(&made->arena, 0);
    code = open_file(made, error);
    if (code == BASE_OK)
        code = load(made, error);
    if (code == BASE_OK) {
        sqlite3_set_authorizer(made->db, profile_authorize, made);
        *profile = made;
        return BASE_OK;
    }
    if (code == BASE_IO && lies_beside(path, "-wal"))
        base_fail_while(error,
                        "%s-wal holds what was written last, and SQLite has to make %s-shm to read "
                        "it: copy both to where you can write",
                        path, path);
    profile_close(made);
    return code;
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    sqlite3_close(profile->db);
    base_array_fini(&profile->strings);
    base_array_fini(&profile->sites);
    base_array_fini(&profile->launches);
    base_array_fini(&profile->frames);
    base_arena_fini(&profile->arena);
    free(profile->path);
    free(profile);
}

const struct profile_meta *profile_meta(const struct profile *profile)
{
    return &profile->meta;
}

const struct profile_program *profile_program(const struct profile *profile)
{
    return &profile->program;
}

void profile_interrupt(struct profile *profile)
{
    sqlite3_interrupt(profile->db);
}
