// SPDX-License-Identifier: Apache-2.0
// hostile THEME.NAME runs a program; hostile --list prints the names of all, and what they do.
//
// If HOSTILE_TIME names a file, the time that the program took is written to it, in nanoseconds,
// without the start: libraries, context, and loading of the kernel. Programs that do not return, or
// that start by themselves, write none.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

static const struct {
    const char *name, *what;
    void (*run)(void), (*early)(void);
    void (*each)(const struct result *result, unsigned key);
    void (*pages)(char *memory);
} programs[] = {
#define PROGRAM(theme, name, what) {#theme "." #name, what, .run = theme##_##name},
#define EARLY(theme, name, what)   {#theme "." #name, what, .early = theme##_##name},
#define EACH(theme, name, what)    {#theme "." #name, what, .each = theme##_##name},
#define PAGES(theme, name, what)   {#theme "." #name, what, .pages = theme##_##name},
#include "programs.def"
};
enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

const char *own_path;

int run_again(const char *program)
{
    return execl(own_path, own_path, program, (char *)NULL);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void write_time(const char *path, int64_t ns)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) {
        dprintf(file, "%lld\n", (long long)ns);
        close(file);
    }
}

static void run_program(unsigned index)
{
    const char *path = getenv("HOSTILE_TIME");
    char kept[PAGE];
    snprintf(kept, sizeof(kept), "%s", path ? path : "");
    const pid_t self = getpid();
    if (programs[index].early) {
        programs[index].early();
        return;
    }
    start();
    const int64_t begun_ns = now_ns();
    if (programs[index].each)
        on_each(programs[index].each);
    else if (programs[index].pages)
        in_pages(programs[index].pages);
    else
        programs[index].run();
    const int64_t ended_ns = now_ns();
    if (kept[0] && getpid() == self)
        write_time(kept, ended_ns - begun_ns);
}

int main(int count, char **arguments)
{
    static char path[PAGE];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    own_path = length > 0 ? path : arguments[0];
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        if (count > 1 && strcmp(arguments[1], "--list") == 0) {
            printf("%s\t%s\n", programs[i].name, programs[i].what);
        } else if (count > 1 && strcmp(arguments[1], programs[i].name) == 0) {
            run_program(i);
            return 0;
        }
    }
    return count > 1 && strcmp(arguments[1], "--list") == 0 ? 0 : 2;
}
