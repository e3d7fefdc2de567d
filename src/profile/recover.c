// SPDX-License-Identifier: Apache-2.0
// Makes a private copy of an unfinished profile and its log or journal, which SQLite can recover;
// the original files stay unchanged. A rollback journal can name a file that SQLite deletes after
// rolling back (a super-journal). glint never writes such a journal, so one that names a file is
// foreign and is not copied.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"

// SQLite recognizes the name of a super-journal by these bytes at the end of a journal.
static const unsigned char journal_mark[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static const char *const suffixes[] = {"", "-wal", "-journal"};
enum { SUFFIXES = sizeof(suffixes) / sizeof(suffixes[0]) };

static bool write_all(int to, const char *bytes, ssize_t count)
{
    for (ssize_t done = 0; done < count;) {
        const ssize_t put = write(to, bytes + done, (size_t)(count - done));
        if (put < 0 && errno != EINTR)
            return false;
        done += put > 0 ? put : 0;
    }
    return true;
}

static bool pour(int from, int to)
{
    if (ioctl(to, FICLONE, from) == 0) // shares blocks if the file system can
        return true;
    char piece[1 << 16];
    ssize_t got;
    do {
        got = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
    } while (got > 0);
    if (got == 0 && lseek(to, 0, SEEK_CUR) > 0)
        return true;
    // The kernel cannot copy between some file systems. The offsets are still correct, so go on
    // here.
    while ((got = read(from, piece, sizeof(piece))) != 0) {
        if (got < 0 && errno != EINTR)
            return false;
        if (!write_all(to, piece, got))
            return false;
    }
    return true;
}

// Copies a file. A missing file is not an error.
static enum base_code copy_file(const char *from, const char *to, struct base_error *error)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0)
        return errno == ENOENT
                   ? BASE_OK
                   : base_fail(error, BASE_IO, "cannot read %s: %s", from, strerror(errno));
    struct stat status;
    enum base_code code = BASE_OK;
    if (fstat(in, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(in);
        return base_fail(error, BASE_INVALID, "%s is not a file", from);
    }
    const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 || !pour(in, out))
        code = base_fail(error, BASE_IO, "cannot copy %s to %s: %s", from, to, strerror(errno));
    if (out >= 0 && close(out) != 0 && code == BASE_OK)
        code = base_fail(error, BASE_IO, "cannot copy %s to %s: %s", from, to, strerror(errno));
    close(in);
    return code;
}

static bool names_another_file(const char *journal)
{
    unsigned char end[sizeof(journal_mark)];
    const int file = open(journal, O_RDONLY | O_CLOEXEC);
    const bool names = file >= 0 && lseek(file, -(off_t)sizeof(end), SEEK_END) >= 0 &&
                       read(file, end, sizeof(end)) == (ssize_t)sizeof(end) &&
                       memcmp(end, journal_mark, sizeof(end)) == 0;
    if (file >= 0)
        close(file);
    return names;
}

static enum base_code copy_all(const char *path, const struct profile_copy_folder *copy,
                               struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < SUFFIXES && code == BASE_OK; i++) {
        struct base_buf from = {0}, to = {0};
        base_buf_printf(&from, "%s%s", path, suffixes[i]);
        base_buf_printf(&to, "%s%s", copy->file, suffixes[i]);
        code =
            from.failed || to.failed ? base_no_memory(error) : copy_file(from.text, to.text, error);
        if (code == BASE_OK && i == SUFFIXES - 1 && names_another_file(to.text))
            unlink(to.text);
        base_buf_fini(&from);
        base_buf_fini(&to);
    }
    return code;
}

enum base_code profile_copy_unfinished(const char *path, struct profile_copy_folder *copy,
                                       struct base_error *error)
{
    struct base_buf name = {0};
    *copy = (struct profile_copy_folder){0};
    enum base_code code = base_scratch_make("read", 0, &copy->folder, error);
    if (code != BASE_OK)
        return code;
    base_buf_printf(&name, "%s/profile", copy->folder.path);
    copy->file = name.text;
    code = name.failed ? base_no_memory(error) : copy_all(path, copy, error);
    if (code != BASE_OK) {
        base_fail_while(error, "reading %s, which is unfinished, from a copy", path);
        profile_remove_copy(copy);
    }
    return code;
}

void profile_remove_copy(struct profile_copy_folder *copy)
{
    base_scratch_remove(&copy->folder);
    free(copy->file);
    *copy = (struct profile_copy_folder){0};
}
