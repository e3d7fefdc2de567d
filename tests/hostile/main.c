// SPDX-License-Identifier: Apache-2.0
// hostile THEME.NAME runs a program; hostile --list prints the names of all, and what they do.
//
// If HOSTILE_TIME names a file, the program is repeated for a while, and the time that one round
// took is written there, in nanoseconds, without the start: libraries, context, and loading of the
// kernel. Programs that do not return, or that start by themselves, write none. What a program
// prints is of no use then.
#include <errno.h>
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
enum {
    PROGRAMS = sizeof(programs) / sizeof(programs[0]),
    MOST_ROUNDS = 20,
    LEAST_NS = 200000000,
};

const char *own_path;
int errno_at_start;

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

static void run_once(unsigned index)
{
    if (programs[index].each)
        on_each(programs[index].each);
    else if (programs[index].pages)
        in_pages(programs[index].pages);
    else
        programs[index].run();
}

static void measure(unsigned index, const char *path)
{
    const pid_t self = getpid();
    const int64_t begun_ns = now_ns();
    int64_t ns = 0;
    unsigned rounds = 0;
    while (rounds < MOST_ROUNDS && ns < LEAST_NS) {
        run_once(index);
        ns = now_ns() - begun_ns;
        rounds++;
    }
    if (getpid() == self)
        write_time(path, ns / rounds);
}

static void run_program(unsigned index)
{
    const char *path = getenv("HOSTILE_TIME");
    char kept[PAGE];
    snprintf(kept, sizeof(kept), "%s", path ? path : ""); // programs change the environment
    if (programs[index].early) {
        programs[index].early();
        return;
    }
    start();
    if (kept[0])
        measure(index, kept);
    else
        run_once(index);
}

int main(int count, char **arguments)
{
    errno_at_start = errno;
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
