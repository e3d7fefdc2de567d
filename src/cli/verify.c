// SPDX-License-Identifier: Apache-2.0
// Comparing two runs. Files are copied and not moved, so that what is the user's stays in its place
// with its owner and its links, and is there also if glint is killed.
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16 };

// --- Copies --------------------------------------------------------------------------------------

// Writes one file over the other, which is made where it is not there. False with errno.
static bool copy_file(const char *from, const char *to)
{
    char *piece = malloc(PIECE_BYTES);
    struct stat status = {0};
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const bool readable = piece && in >= 0 && fstat(in, &status) == 0;
    const int out =
        readable ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, status.st_mode & 07777) : -1;
    bool good = out >= 0;
    for (ssize_t got = 1; good && got;) {
        got = read(in, piece, PIECE_BYTES);
        good = got >= 0 || errno == EINTR;
        for (ssize_t done = 0; good && done < got;) {
            const ssize_t put = write(out, piece + done, (size_t)(got - done));
            good = put >= 0 || errno == EINTR;
            done += put > 0 ? put : 0;
        }
    }
    if (good) {
        const struct timespec times[] = {status.st_atim, status.st_mtim};
        futimens(out, times); // where it may not be, the contents are what counts
    }
    int why = errno;
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) != 0 && good) {
        why = errno;
        good = false;
    }
    free(piece);
    errno = why;
    return good;
}

// The copy's name: "before-3".
static bool name_copy(const struct verify *verify, const char *of, unsigned file,
                      struct base_buf *path)
{
    char number[16];
    snprintf(number, sizeof(number), "-%u", file);
    return runs_file(verify->runs, of, number, path);
}

static bool keep_all(const struct verify *verify, const char *of)
{
    struct base_buf copy = {0};
    bool good = true;
    for (unsigned i = 0; i < verify->file_count && good; i++) {
        struct stat status;
        good = name_copy(verify, of, i, &copy);
        if (!good || (stat(verify->files[i], &status) != 0 && errno == ENOENT))
            continue;
        if (stat(verify->files[i], &status) == 0 && !S_ISREG(status.st_mode)) {
            cli_message("--compare: %s is no file", verify->files[i]);
            good = false;
        } else if (!copy_file(verify->files[i], copy.text)) {
            cli_message("--compare: cannot keep %s: %s", verify->files[i], strerror(errno));
            good = false;
        }
    }
    base_buf_fini(&copy);
    return good;
}

static bool put_all(struct verify *verify, const char *of)
{
    struct base_buf copy = {0};
    bool good = true;
    for (unsigned i = 0; i < verify->file_count; i++) {
        const char *file = verify->files[i];
        if (!name_copy(verify, of, i, &copy)) {
            verify->runs->keeps_folder = true;
            good = false;
        } else if (access(copy.text, F_OK) == 0) {
            if (copy_file(copy.text, file))
                continue;
            cli_message("cannot put %s back: %s; what it was is in %s", file, strerror(errno),
                        copy.text);
            verify->runs->keeps_folder = true;
            good = false;
        } else if (unlink(file) != 0 && errno != ENOENT) {
            cli_message("cannot remove %s, which was not there before: %s", file, strerror(errno));
            good = false;
        }
    }
    base_buf_fini(&copy);
    return good;
}

bool verify_keep(struct verify *verify)
{
    verify->kept = keep_all(verify, "before");
    return verify->kept;
}

bool verify_put_back(struct verify *verify)
{
    return put_all(verify, "before");
}

bool verify_keep_native(struct verify *verify)
{
    return keep_all(verify, "native");
}

// --- Differences ---------------------------------------------------------------------------------

enum difference { SAME, DIFFERENT, UNREADABLE };

// Says where they begin to differ.
static enum difference compare_open(FILE *native, FILE *corrected, const char *what)
{
    for (unsigned long long at = 0;; at++) {
        const int one = getc_unlocked(native), other = getc_unlocked(corrected);
        if (ferror(native) || ferror(corrected)) {
            cli_message("cannot read %s: %s", what, strerror(errno));
            return UNREADABLE;
        }
        if (one == other && one == EOF)
            return SAME;
        if (one == other)
            continue;
        if (one == EOF || other == EOF)
            cli_message("%s differs: it ends after %llu bytes %s", what, at,
                        one == EOF ? "natively, and goes on corrected"
                                   : "corrected, and goes on natively");
        else
            cli_message("%s differs from byte %llu on: 0x%02x, natively 0x%02x", what, at,
                        (unsigned)other, (unsigned)one);
        return DIFFERENT;
    }
}

// A file that is not there is one that differs from one that is.
static enum difference compare_files(const char *native, const char *corrected, const char *what)
{
    FILE *one = fopen(native, "re"), *other = fopen(corrected, "re");
    enum difference difference = UNREADABLE;
    if (one && other)
        difference = compare_open(one, other, what);
    else if ((one || access(native, F_OK) != 0) && (other || access(corrected, F_OK) != 0)) {
        difference = one || other ? DIFFERENT : SAME;
        if (one || other)
            cli_message("%s differs: it is there only %s", what, one ? "natively" : "corrected");
    } else
        cli_message("cannot read %s: %s", what, strerror(errno));
    if (one)
        fclose(one);
    if (other)
        fclose(other);
    return difference;
}

static enum difference compare_printed(const struct verify *verify, const char *suffix,
                                       const char *what)
{
    struct base_buf native = {0}, corrected = {0};
    const bool good = runs_file(verify->runs, "native", suffix, &native) &&
                      runs_file(verify->runs, "corrected", suffix, &corrected);
    const enum difference difference =
        good ? compare_files(native.text, corrected.text, what) : UNREADABLE;
    base_buf_fini(&native);
    base_buf_fini(&corrected);
    return difference;
}

static enum difference compare_written(const struct verify *verify)
{
    struct base_buf copy = {0};
    enum difference worst = SAME;
    for (unsigned i = 0; i < verify->file_count; i++) {
        const enum difference difference =
            name_copy(verify, "native", i, &copy)
                ? compare_files(copy.text, verify->files[i], verify->files[i])
                : UNREADABLE;
        worst = difference > worst ? difference : worst;
    }
    base_buf_fini(&copy);
    return worst;
}

static void put_status(char *text, size_t bytes, int status)
{
    if (WIFSIGNALED(status))
        snprintf(text, bytes, "it was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, bytes, "it exited with status %d", WEXITSTATUS(status));
}

static bool same_status(int native, int corrected)
{
    char one[128], other[128];
    if (native == corrected ||
        (WIFSIGNALED(native) && WIFSIGNALED(corrected) && WTERMSIG(native) == WTERMSIG(corrected)))
        return true;
    put_status(one, sizeof(one), native);
    put_status(other, sizeof(other), corrected);
    cli_message("the end differs: %s, natively %s", other, one);
    return false;
}

bool verify_compare(struct verify *verify, int native_status, int corrected_status, bool *same)
{
    const enum difference printed = compare_printed(verify, ".out", "standard output");
    const enum difference errors = compare_printed(verify, ".err", "standard error");
    const enum difference written = compare_written(verify);
    if (errors == DIFFERENT)
        cli_message("standard error is told only: programs print times and addresses there");
    *same = same_status(native_status, corrected_status) && printed == SAME && written == SAME;
    if (written == DIFFERENT && put_all(verify, "native"))
        cli_message("the files are now those of the native run");
    return printed != UNREADABLE && written != UNREADABLE;
}
