// SPDX-License-Identifier: Apache-2.0
// glint-merge-mpi: merges profiles as an MPI program, as a tree over its ranks. Each rank merges a
// part of the files into a job profile in its temporary folder. In each round, half of the ranks
// that are left send theirs, and the others merge what they receive, until rank 0 has the job.
// Merging does not depend on grouping, so the file is that of `glint merge`.
//
// A rank that fails says so in the tree, so that all ranks end and none waits in vain.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/merge.h"

enum { FAILED = 2, NOT_ALL = 1, PIECE_BYTES = 16 << 20 };

struct tree {
    int rank, ranks;
    const char *const *files;
    size_t count;
    struct base_scratch folder;
    struct base_buf own, received; // paths of job profiles in it
    bool has_own;                  // there was something to merge
    int unmerged;                  // files that were left out
    bool failed;
};

static void say(const struct base_error *error)
{
    char text[BASE_ERROR_CAUSES * BASE_ERROR_TEXT];
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "glint-merge-mpi: %s\n", text);
}

static void say_unmerged(void *user, const char *file, const char *why)
{
    (void)user;
    fprintf(stderr, "glint-merge-mpi: left out %s: %s\n", file, why);
}

// Merges into this rank's job profile.
static void merge(struct tree *tree, const char *const *files, size_t count)
{
    struct base_error error = {0};
    struct merge_result result;
    const struct merge_request request = {.files = files,
                                          .count = count,
                                          .output = tree->own.text,
                                          .force = true,
                                          .processes = 1,
                                          .may_be_empty = true,
                                          .unmerged = say_unmerged};
    if (count == 0)
        return;
    if (merge_files(&request, &result, &error) != BASE_OK) {
        say(&error);
        tree->failed = true;
        return;
    }
    tree->unmerged += (int)result.unmerged;
    tree->has_own = true;
}

static void begin(struct tree *tree)
{
    struct base_error error = {0};
    if (base_scratch_make("merge", 0, &tree->folder, &error) != BASE_OK) {
        say(&error);
        tree->failed = true;
        return;
    }
    base_buf_printf(&tree->own, "%s/own", tree->folder.path);
    base_buf_printf(&tree->received, "%s/received", tree->folder.path);
    const char **files = calloc(tree->count + 1, sizeof(*files));
    size_t count = 0;
    for (size_t i = (size_t)tree->rank; files && i < tree->count; i += (size_t)tree->ranks)
        files[count++] = tree->files[i];
    tree->failed |= !files || tree->own.failed || tree->received.failed;
    if (!tree->failed)
        merge(tree, files, count);
    free(files);
}

// What a rank sends before its file: its size in bytes, -1 after a failure; and how many files it
// left out.
struct head {
    long long bytes, unmerged;
};

static void send_to(struct tree *tree, int to)
{
    struct stat status;
    char *piece = malloc(PIECE_BYTES);
    const int file =
        tree->has_own && !tree->failed ? open(tree->own.text, O_RDONLY | O_CLOEXEC) : -1;
    tree->failed |= !piece || (tree->has_own && (file < 0 || fstat(file, &status) != 0));
    struct head head = {tree->failed    ? -1
                        : tree->has_own ? (long long)status.st_size
                                        : 0,
                        tree->unmerged};
    MPI_Send(&head, 2, MPI_LONG_LONG, to, 0, MPI_COMM_WORLD);
    for (long long left = head.bytes; left > 0;) {
        const size_t wanted = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        size_t got = 0;
        while (got < wanted) {
            const ssize_t more = read(file, piece + got, wanted - got);
            if (more <= 0 && !(more < 0 && errno == EINTR))
                break; // the receiver finds the rest damaged
            got += more > 0 ? (size_t)more : 0;
        }
        memset(piece + got, 0, wanted - got);
        MPI_Send(piece, (int)wanted, MPI_BYTE, to, 1, MPI_COMM_WORLD);
        left -= (long long)wanted;
    }
    if (file >= 0)
        close(file);
    free(piece);
}

static bool write_all(int file, const char *bytes, size_t count)
{
    while (count) {
        const ssize_t put = write(file, bytes, count);
        if (put < 0 && errno != EINTR)
            return false;
        bytes += put > 0 ? put : 0;
        count -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

static void receive_from(struct tree *tree, int from)
{
    struct head head;
    char *piece = malloc(PIECE_BYTES);
    MPI_Recv(&head, 2, MPI_LONG_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!piece) // what was sent cannot be received, so nobody can go on
        MPI_Abort(MPI_COMM_WORLD, FAILED);
    tree->failed |= head.bytes < 0;
    tree->unmerged += (int)head.unmerged;
    const int file = head.bytes > 0 && tree->received.text
                         ? open(tree->received.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                         : -1;
    bool good = file >= 0;
    for (long long left = head.bytes; left > 0;) {
        const size_t count = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        MPI_Recv(piece, (int)count, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good = good && write_all(file, piece, count);
        left -= (long long)count;
    }
    if (file >= 0)
        good &= close(file) == 0;
    free(piece);
    if (head.bytes > 0 && !good) {
        fprintf(stderr, "glint-merge-mpi: cannot write %s: %s\n",
                tree->received.text ? tree->received.text : "a temporary file", strerror(errno));
        tree->failed = true;
    }
    if (head.bytes <= 0 || tree->failed)
        return;
    const char *const both[] = {tree->received.text, tree->own.text};
    merge(tree, both, tree->has_own ? 2 : 1);
}

// Brings everything to rank 0.
static void climb(struct tree *tree)
{
    for (int step = 1; step < tree->ranks; step *= 2) {
        if (tree->rank & step) {
            send_to(tree, tree->rank - step);
            return;
        }
        if (tree->rank + step < tree->ranks)
            receive_from(tree, tree->rank + step);
    }
}

static int finish(struct tree *tree, const char *output)
{
    struct base_error error = {0};
    struct merge_result result;
    const char *const own[] = {tree->own.text};
    const struct merge_request request = {
        .files = own, .count = 1, .output = output, .force = true, .processes = 1};
    if (!tree->failed && merge_files(&request, &result, &error) != BASE_OK) {
        say(&error);
        tree->failed = true;
    }
    return tree->failed ? FAILED : tree->unmerged ? NOT_ALL : 0;
}

static const char help[] =
    "Usage: mpirun -n N glint-merge-mpi [-f] -o JOB FILE...\n\n"
    "Merges profiles and job profiles into one job profile, as a tree over N ranks. The file is "
    "that\n"
    "of 'glint merge', whose help says more. Every rank needs the same list of files, and must be\n"
    "able to read those that it merges.\n\n"
    "  -o, --output JOB  the job profile to write; needed\n"
    "  -f, --force       replace an existing file\n"
    "  -h, --help        print this text\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"force", no_argument, NULL, 'f'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct tree tree = {0};
    const char *output = NULL;
    bool force = false, shows_help = false, wrong = false;
    struct base_error error = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &tree.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &tree.ranks);
    opterr = tree.rank == 0;
    for (int letter; (letter = getopt_long(argc, argv, "o:fh", options, NULL)) != -1;) {
        switch (letter) {
        case 'o': output = optarg; break;
        case 'f': force = true; break;
        case 'h': shows_help = true; break;
        default: wrong = true; break;
        }
    }
    int status = shows_help && !wrong ? 0 : FAILED;
    tree.files = (const char *const *)argv + optind;
    tree.count = (size_t)(argc - optind);
    if (shows_help || wrong || !output || tree.count == 0) {
        if (tree.rank == 0 && shows_help)
            fputs(help, stdout);
        else if (tree.rank == 0)
            fputs("glint-merge-mpi: give -o JOB and profiles; try --help\n", stderr);
        MPI_Finalize();
        return status;
    }
    int fine = 1;
    if (tree.rank == 0 && merge_check_output(output, force, &error) != BASE_OK) {
        say(&error);
        fine = 0;
    }
    MPI_Bcast(&fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (fine) {
        begin(&tree);
        climb(&tree);
        status = tree.rank == 0 ? finish(&tree, output) : 0;
    } else {
        status = tree.rank == 0 ? FAILED : 0;
    }
    base_buf_fini(&tree.own);
    base_buf_fini(&tree.received);
    base_scratch_remove(&tree.folder);
    MPI_Finalize();
    return status;
}
