// SPDX-License-Identifier: Apache-2.0
// Compares a corrected run with native runs. Files are copied and not moved, so that the user's
// files keep their place, owner and links, and still exist if glint is killed.
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lines.h"

enum { PIECE_BYTES = 1 << 16 };

// --- Copies --------------------------------------------------------------------------------------

// Copies one file over the other, creating it if needed. Returns false and sets errno on failure.
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
        futimens(out, times); // may fail: only the contents matter
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

// Makes the name of a copy, such as "before-3".
static bool name_copy(const struct cli_verify *verify, const char *of, unsigned file,
                      struct base_buf *path)
{
    char number[16];
    snprintf(number, sizeof(number), "-%u", file);
    return cli_runs_file(verify->runs, of, number, path);
}

static bool keep_all(const struct cli_verify *verify, const char *of)
{
    struct base_buf copy = {0};
    bool good = true;
    for (unsigned i = 0; i < verify->file_count && good; i++) {
        struct stat status;
        good = name_copy(verify, of, i, &copy);
        if (!good || (stat(verify->files[i], &status) != 0 && errno == ENOENT))
            continue;
        if (stat(verify->files[i], &status) == 0 && !S_ISREG(status.st_mode)) {
            cli_message("--compare: %s is not a regular file", verify->files[i]);
            good = false;
        } else if (!copy_file(verify->files[i], copy.text)) {
            cli_message("--compare: cannot save %s: %s", verify->files[i], strerror(errno));
            good = false;
        }
    }
    base_buf_fini(&copy);
    return good;
}

static bool put_all(struct cli_verify *verify, const char *of)
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
            cli_message("cannot restore %s: %s; its original contents are in %s", file,
                        strerror(errno), copy.text);
            verify->runs->keeps_folder = true;
            good = false;
        } else if (unlink(file) != 0 && errno != ENOENT) {
            cli_message("cannot remove %s, which did not exist before: %s", file, strerror(errno));
            good = false;
        }
    }
    base_buf_fini(&copy);
    return good;
}

bool cli_verify_keep(struct cli_verify *verify)
{
    verify->kept = keep_all(verify, "before");
    return verify->kept;
}

bool cli_verify_put_back(struct cli_verify *verify)
{
    return put_all(verify, "before");
}

bool cli_verify_keep_native(struct cli_verify *verify, enum cli_verify_run run)
{
    return keep_all(verify, cli_verify_run_name(run));
}

const char *cli_verify_run_name(enum cli_verify_run run)
{
    return run == CLI_VERIFY_AGAIN ? "again" : "native";
}

// --- Differences ---------------------------------------------------------------------------------

struct text {
    bool there; // the file exists
    char *bytes;
    size_t count;
};

// Maps the file, which is no longer written. Returns false and sets errno on failure.
static bool open_text(const char *path, struct text *text)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    *text = (struct text){.there = file >= 0};
    bool good = file >= 0 ? fstat(file, &status) == 0 : errno == ENOENT;
    if (good && file >= 0 && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        good = bytes != MAP_FAILED;
        text->bytes = good ? bytes : NULL;
        text->count = good ? (size_t)status.st_size : 0;
    }
    if (file >= 0)
        close(file);
    return good;
}

static void close_text(const struct text *text)
{
    if (text->bytes)
        munmap(text->bytes, text->count);
}

// The result of comparisons. Differences are appended to a text.
struct comparison {
    const struct cli_verify *verify;
    struct base_buf differences;
    size_t ignored;         // lines that differ between the native runs
    struct base_buf unsure; // what cannot be compared, because the native runs differ
    unsigned files;         // that were compared
    bool end, unreadable;   // the end was compared; something could not be read
};

static void put_difference(struct comparison *comparison, const char *what, const char *how,
                           size_t line)
{
    struct base_buf *out = &comparison->differences;
    base_buf_printf(out, "%s%s differs%s", out->length ? "; " : "", what, how);
    if (line)
        base_buf_printf(out, " from line %zu on", line);
}

static void compare_texts(struct comparison *comparison, const struct text texts[3],
                          const char *what)
{
    const struct text *native = &texts[0], *again = &texts[1], *corrected = &texts[2];
    struct cli_lines_outcome outcome = {.same = true};
    if (native->there != again->there) {
        base_buf_printf(&comparison->unsure, "; %s exists after only one of two native runs", what);
        return;
    }
    if (native->there != corrected->there) {
        put_difference(comparison, what,
                       native->there ? ", it exists only after the native run"
                                     : ", it exists only after the corrected run",
                       0);
        return;
    }
    if (!cli_lines_compare(native->bytes, native->count, again->bytes, again->count,
                           corrected->bytes, corrected->count, &outcome)) {
        cli_no_memory();
        comparison->unreadable = true;
        return;
    }
    comparison->ignored += outcome.ignored;
    if (!outcome.same)
        put_difference(comparison, what, "", outcome.line);
}

static void compare_files(struct comparison *comparison, const char *const paths[3],
                          const char *what)
{
    struct text texts[3] = {{0}};
    bool good = true;
    for (int i = 0; i < 3 && good; i++) {
        good = open_text(paths[i], &texts[i]);
        if (!good)
            cli_message("cannot read %s: %s", what, strerror(errno));
    }
    if (good)
        compare_texts(comparison, texts, what);
    comparison->unreadable |= !good;
    for (int i = 0; i < 3; i++)
        close_text(&texts[i]);
}

static void compare_printed(struct comparison *comparison, const char *suffix, const char *what)
{
    struct cli_runs *runs = comparison->verify->runs;
    struct base_buf native = {0}, again = {0}, corrected = {0};
    if (cli_runs_file(runs, "native", suffix, &native) &&
        cli_runs_file(runs, "again", suffix, &again) &&
        cli_runs_file(runs, "corrected", suffix, &corrected))
        compare_files(comparison, (const char *const[]){native.text, again.text, corrected.text},
                      what);
    else
        comparison->unreadable = true;
    base_buf_fini(&native);
    base_buf_fini(&again);
    base_buf_fini(&corrected);
}

// Returns whether some of the files differ.
static bool compare_written(struct comparison *comparison)
{
    const struct cli_verify *verify = comparison->verify;
    const size_t before = comparison->differences.length;
    struct base_buf native = {0}, again = {0};
    for (unsigned i = 0; i < verify->file_count; i++) {
        const size_t unsure = comparison->unsure.length;
        if (name_copy(verify, "native", i, &native) && name_copy(verify, "again", i, &again))
            compare_files(comparison,
                          (const char *const[]){native.text, again.text, verify->files[i]},
                          verify->files[i]);
        else
            comparison->unreadable = true;
        comparison->files += comparison->unsure.length == unsure;
    }
    base_buf_fini(&native);
    base_buf_fini(&again);
    return comparison->differences.length > before;
}

static void put_status(struct base_buf *out, int status)
{
    if (WIFSIGNALED(status))
        base_buf_printf(out, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        base_buf_printf(out, "exit status %d", WEXITSTATUS(status));
}

static bool is_same_end(int one, int other)
{
    return one == other ||
           (WIFSIGNALED(one) && WIFSIGNALED(other) && WTERMSIG(one) == WTERMSIG(other));
}

static void compare_ends(struct comparison *comparison, const struct cli_verify_ends *ends)
{
    struct base_buf *out = &comparison->differences;
    comparison->end = is_same_end(ends->native, ends->again);
    if (!comparison->end) {
        base_buf_puts(&comparison->unsure, "; two native runs end differently");
        return;
    }
    if (is_same_end(ends->native, ends->corrected))
        return;
    base_buf_puts(out, out->length ? "; it ends with " : "it ends with ");
    put_status(out, ends->corrected);
    base_buf_puts(out, ", natively with ");
    put_status(out, ends->native);
}

static void put_verdict(const struct comparison *comparison, bool same, bool errors_differ,
                        bool put_back, struct base_buf *verdict)
{
    const unsigned files = comparison->files;
    if (same) {
        base_buf_puts(verdict, "verified: the output");
        if (files)
            base_buf_printf(verdict, "%s%u file%s", comparison->end ? ", " : " and ", files,
                            files == 1 ? "" : "s");
        base_buf_printf(verdict, "%s as in the native run",
                        comparison->end ? " and the exit status are"
                        : files         ? " are"
                                        : " is");
    } else {
        base_buf_printf(verdict, "not verified: %s", comparison->differences.text);
    }
    base_buf_puts(verdict, comparison->unsure.text ? comparison->unsure.text : "");
    if (put_back)
        base_buf_puts(verdict, "; the files are now those of the native run");
    if (comparison->ignored)
        base_buf_printf(
            verdict, "; %zu line%s that differ%s between two native runs %s not compared",
            comparison->ignored, comparison->ignored == 1 ? "" : "s",
            comparison->ignored == 1 ? "s" : "", comparison->ignored == 1 ? "was" : "were");
    if (errors_differ)
        base_buf_puts(verdict, "; standard error differs, which does not count");
}

bool cli_verify_compare(struct cli_verify *verify, const struct cli_verify_ends *ends, bool *same,
                        struct base_buf *verdict)
{
    struct comparison comparison = {.verify = verify}, errors = {.verify = verify};
    compare_printed(&comparison, ".out", "standard output");
    const bool written = compare_written(&comparison);
    compare_ends(&comparison, ends);
    compare_printed(&errors, ".err", "standard error");
    *same = !comparison.differences.length && !comparison.differences.failed;
    const bool put_back = written && put_all(verify, "native");
    put_verdict(&comparison, *same, errors.differences.length, put_back, verdict);
    const bool good = !comparison.unreadable;
    base_buf_fini(&comparison.differences);
    base_buf_fini(&comparison.unsure);
    base_buf_fini(&errors.differences);
    base_buf_fini(&errors.unsure);
    return good;
}
