// SPDX-License-Identifier: Apache-2.0
// glint doctor: says what this machine supports and what is missing. Each check is a row in a
// table: it examines one thing, says what it found, and gives advice if something is missing.
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "program.h"
#include "sanitizer.h"
#include "try_driver.h"

enum { FEW_BYTES = 256 << 20 }; // enough for a profile of a few million calls

// What a check is needed for. Recording needs all checks of WATCHING and one of DEVICE.
enum need { NEED_WATCHING, NEED_DEVICE, NEED_NOTHING };

struct examination {
    const char *folder;   // contains glint's libraries; "" if unknown
    const char *output;   // where a profile would be written; NULL: the current folder
    struct base_buf said; // what was found
    const char *advice;   // what to do if it is missing; NULL: nothing
};

struct check {
    const char *what;
    enum need need;
    bool (*look)(struct examination *examination); // returns true if it is present
};

// --- Checks --------------------------------------------------------------------------------------

static bool look_libraries(struct examination *at)
{
    static const char *const names[] = {"libglint.so", "libglint-sync.so", "libglint-mpi.so"};
    struct base_buf path = {0};
    bool there = true;
    for (unsigned i = 0; there && i < sizeof(names) / sizeof(names[0]); i++) {
        base_buf_clear(&path);
        base_buf_printf(&path, "%s/%s", at->folder, names[i]);
        there = !path.failed && access(path.text, R_OK) == 0;
    }
    if (there)
        base_buf_printf(&at->said, "%s/%s", at->folder, names[0]);
    else
        base_buf_printf(&at->said, "no %s", path.failed ? "" : path.text);
    at->advice = "install glint as a whole: bin/glint and lib/glint belong together";
    base_buf_fini(&path);
    return there;
}

static bool look_simulator(struct examination *at)
{
    struct base_buf path = {0};
    base_buf_printf(&path, "%s/sim/libcuda.so.1", at->folder);
    bool there = !path.failed && access(path.text, R_OK) == 0;
    at->advice = "install glint as a whole: bin/glint and lib/glint belong together";
    if (!there)
        base_buf_printf(&at->said, "no %s", path.failed ? "libcuda.so.1" : path.text);
    else
        there = cli_try_driver(&(struct cli_driver_trial){.library = path.text, .run_kernel = true},
                               &at->said) == CLI_DRIVER_WORKS;
    base_buf_fini(&path);
    return there;
}

static bool look_gpu(struct examination *at)
{
    struct cli_driver_trial trial = {.library = "libcuda.so.1",
                                     .not_within = at->folder[0] ? at->folder : NULL};
    const enum cli_driver found = cli_try_driver(&trial, &at->said);
    at->advice = found == CLI_DRIVER_ABSENT
                     ? "install NVIDIA's driver if there is a GPU, else use --device sim"
                     : "install NVIDIA's driver with its libcuda.so.1, in the version of the "
                       "kernel module";
    return found == CLI_DRIVER_WORKS;
}

static bool look_nvcc(struct examination *at)
{
    const char *folders = getenv("PATH");
    char path[PATH_MAX];
    for (const char *from = folders ? folders : ""; *from;) {
        size_t length = strcspn(from, ":");
        int size = snprintf(path, sizeof(path), "%.*s/nvcc", (int)length, from);
        if (size > 0 && size < (int)sizeof(path) && access(path, X_OK) == 0) {
            base_buf_puts(&at->said, path);
            return true;
        }
        from += length + (from[length] == ':');
    }
    if (access("/usr/local/cuda/bin/nvcc", X_OK) == 0) {
        base_buf_puts(&at->said, "/usr/local/cuda/bin/nvcc, not in PATH");
        return true;
    }
    base_buf_puts(&at->said, "no nvcc in PATH");
    at->advice = "glint does not need it; install NVIDIA's toolkit to compile CUDA programs";
    return false;
}

static bool look_sanitizer(struct examination *at)
{
    struct base_buf patch = {0};
    const bool found = cli_sanitizer_find(&at->said), compiled = cli_sanitizer_find_patch(&patch);
    if (!found) {
        base_buf_clear(&at->said);
        base_buf_printf(&at->said, "no %s", CLI_SANITIZER_LIBRARY);
    } else if (!compiled) {
        base_buf_puts(&at->said, ", but glint was built without nvcc and has no patch for it");
    }
    at->advice = found ? "build glint where nvcc is"
                       : "glint record --sample-native needs it: install Compute Sanitizer, or set "
                         "GLINT_SANITIZER";
    base_buf_fini(&patch);
    return found && compiled;
}

static bool look_memfd(struct examination *at)
{
    int fd = memfd_create("glint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    base_buf_printf(&at->said, fd >= 0 ? "memfd_create works" : "memfd_create: %s",
                    strerror(errno));
    at->advice = "glint record needs Linux 3.17 or later, and a sandbox that allows memfd_create";
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool look_socket(struct examination *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    base_buf_printf(&at->said, fd >= 0 ? "Unix sockets work" : "Unix sockets: %s", strerror(errno));
    at->advice = "glint record needs Unix sockets; use a sandbox that allows them";
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool look_pidfd(struct examination *at)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    base_buf_printf(&at->said, fd >= 0 ? "pidfd_open works" : "pidfd_open: %s", strerror(errno));
    at->advice = "Linux 5.3 or later lets glint notice at once that a program has ended";
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

// Writes a small file into the folder and removes it. Permissions alone do not tell whether that
// works: the file system may be read-only, or a quota used up.
static bool can_write(const char *folder)
{
    static const char bytes[4096];
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof(path), "%s/.glint-doctor-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    const int file = mkstemp(path);
    if (file < 0)
        return false;
    const bool good = write(file, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);
    const int error = errno;
    close(file);
    unlink(path);
    errno = error;
    return good;
}

static bool look_space(struct examination *at, const char *folder)
{
    struct statvfs space;
    if (statvfs(folder, &space) != 0) {
        base_buf_printf(&at->said, "%s: %s", folder, strerror(errno));
        at->advice = "name an existing folder";
        return false;
    }
    unsigned long long bytes = (unsigned long long)space.f_bavail * space.f_frsize;
    base_buf_printf(&at->said, "%s: %llu MiB free", folder, bytes >> 20);
    if (!can_write(folder)) {
        base_buf_printf(&at->said, ", but no file can be written: %s", strerror(errno));
        at->advice = "change to a writable folder, or use -o";
        return false;
    }
    at->advice = "free some space: a profile of a million calls takes about 50 MiB";
    return bytes >= FEW_BYTES;
}

// Opens userfaultfd as src/inject/guard/pager.c does.
static int open_userfaultfd(void)
{
    const unsigned long new = _IO(0xAA, 0x00); // newer than many systems' headers
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    const int device = fd < 0 && errno == EPERM ? open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) : -1;
    if (device >= 0) {
        fd = ioctl(device, new, O_CLOEXEC | O_NONBLOCK);
        close(device);
    }
    return fd;
}

static bool look_pages(struct examination *at)
{
    const uint64_t move = UINT64_C(1) << 16; // newer than many systems' headers
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK | move};
    const int fd = open_userfaultfd();
    const bool good = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;
    base_buf_puts(&at->said, good ? "pages can be moved away" : "pages cannot be moved away");
    at->advice = "--analyses sync and glint fix need Linux 6.8, CAP_SYS_PTRACE and userfaultfd";
    if (fd >= 0)
        close(fd);
    return good;
}

// Examines the folder that glint record would write to.
static bool look_here(struct examination *at)
{
    const char *slash = at->output ? strrchr(at->output, '/') : NULL;
    char *folder = !slash                ? strdup(".")
                   : slash == at->output ? strdup("/")
                                         : strndup(at->output, (size_t)(slash - at->output));
    const bool good = folder && look_space(at, folder);
    free(folder);
    return good;
}

// What a report of a problem needs.
static bool look_system(struct examination *at)
{
    struct utsname system;
    if (uname(&system) == 0)
        base_buf_printf(&at->said, "%s %s %s, glibc %s", system.sysname, system.release,
                        system.machine, gnu_get_libc_version());
    FILE *file = fopen("/etc/os-release", "re");
    char line[256];
    while (file && fgets(line, sizeof(line), file)) {
        char *end = line + strcspn(line, "\n");
        const char *name = line + strlen("PRETTY_NAME=");
        if (strncmp(line, "PRETTY_NAME=", strlen("PRETTY_NAME=")) != 0)
            continue;
        *end = '\0';
        if (*name == '"' && end > name + 1 && end[-1] == '"') {
            end[-1] = '\0';
            name++;
        }
        base_buf_printf(&at->said, ", %s", name);
    }
    if (file)
        fclose(file);
    return at->said.length > 0;
}

static bool look_temporary(struct examination *at)
{
    const char *folder = getenv("TMPDIR");
    bool good = look_space(at, folder && *folder ? folder : "/tmp");
    if (!good)
        at->advice = "set TMPDIR to a writable folder: glint record creates its socket there";
    return good;
}

static const struct check checks[] = {
    {"watching", NEED_WATCHING, look_libraries},
    {"shared memory", NEED_WATCHING, look_memfd},
    {"sockets", NEED_WATCHING, look_socket},
    {"temporary files", NEED_WATCHING, look_temporary},
    {"simulated GPU", NEED_DEVICE, look_simulator},
    {"NVIDIA GPU", NEED_DEVICE, look_gpu},
    {"profile's folder", NEED_NOTHING, look_here},
    {"first uses", NEED_NOTHING, look_pages},
    {"end of processes", NEED_NOTHING, look_pidfd},
    {"nvcc", NEED_NOTHING, look_nvcc},
    {"Sanitizer API", NEED_NOTHING, look_sanitizer},
    {"system", NEED_NOTHING, look_system},
};

// --- The verb ------------------------------------------------------------------------------------

static const struct cli_option options[] = {
    {'o', "output", "FILE", "examine the folder of FILE, a profile to be written; default: ."},
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    const char **output = user;
    (void)option;
    *output = argument;
    return true;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    const char *output = NULL;
    int first = cli_options(verb, argc, argv, take_option, &output);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_FAILURE;
    if (first < argc) {
        cli_message("glint doctor takes no arguments");
        return CLI_FAILURE;
    }
    struct base_buf folder = {0};
    bool can_watch = true, has_device = false;
    bool known = cli_program_library_folder(&folder);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const struct check *check = &checks[i];
        struct examination at = {.folder = known ? folder.text : "", .output = output};
        bool there = check->look(&at);
        can_watch &= there || check->need != NEED_WATCHING;
        has_device |= there && check->need == NEED_DEVICE;
        printf("%-8s %-16s %s", there ? "ok" : "missing", check->what,
               at.said.text ? at.said.text : "");
        if (!there && at.advice)
            printf("; %s", at.advice);
        putchar('\n');
        base_buf_fini(&at.said);
    }
    base_buf_fini(&folder);
    bool can_record = can_watch && has_device;
    printf("\n%s can%s record programs here.\n", cli_version, can_record ? "" : "not");
    if (fflush(stdout) != 0) {
        cli_message("cannot write the output: %m");
        return CLI_FAILURE;
    }
    return can_record ? 0 : 1;
}

const struct cli_verb cli_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "say what this machine supports, and what is missing",
    .details =
        "The exit status is 0 if glint can record programs on a GPU or on the simulated GPU,\n"
        "else 1.\n",
    .options = options,
    .run = run,
};
