#!/bin/sh
# scripts/check-travel accepts what is linked with the libraries of scripts/make-glibc-stubs, and names what a newer
# glibc or another library brings. Programs that are linked so work: constructors run, and data of libc is shared.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
stubs=${GLINT_BUILD_DIR:-$root/build}/glibc
[ -f "$stubs/libc.so" ] || { echo "SKIP: built without libraries of glibc 2.28"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >program.c <<'END'
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int constructed, ran;
__attribute__((constructor)) static void construct(int argc, char **argv) { constructed += argc == 2 && !strcmp(argv[1], "x"); }
__attribute__((destructor)) static void destruct(void) { fprintf(stdout, "destructed\n"); }
static void *run(void *data) { ran = 1; return data; }

int main(int argc, char **argv)
{
    pthread_t thread;
    struct stat status;
    (void)argc;
    if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
        return 1;
    setenv("MADE", "here", 1);
    int listed = 0;
    for (char **each = environ; *each; each++)
        listed |= !strcmp(*each, "MADE=here");
    int is_folder = !stat("/", &status) && S_ISDIR(status.st_mode);
    printf("%d %d %d %d %d %.3f %s\n", constructed, ran, listed, is_folder, gettid() == getpid(), pow(2, 0.5 * atoi(argv[1] + 1) + 0.5),
           sigdescr_np(SIGSEGV));
    return 0;
}
END
cc=${CC:-cc}
# LINK_OPTION... : makes `program` so that its symbols have old versions
old() { $cc -O1 -fPIE -pie program.c -o program -L"$stubs" -Wl,--wrap=__libc_start_main "$@" -lm; }

old
"$root/scripts/check-travel" --program program
[ "$(./program x)" = "1 1 1 1 1 1.414 Segmentation fault
destructed" ] || { echo "the program prints:"; ./program x; exit 1; }

# The old libraries are asked for, because only they had these functions.
readelf -dW program | grep -q 'libpthread.so.0' || { echo "libpthread.so.0 is not needed"; exit 1; }

# This machine's own libraries: newer, unless it is an old machine.
$cc -O1 program.c -o program -lm
newest=$(readelf -VW program | grep -o 'GLIBC_2[0-9.]*' | sort -V | tail -1)
if [ "$(printf '%s\n' GLIBC_2.28 "$newest" | sort -V | tail -1)" != GLIBC_2.28 ]; then
    ! "$root/scripts/check-travel" program >told || { echo "$newest is accepted"; exit 1; }
    grep -qF "program: needs $newest, newer than glibc 2.28" told || { cat told; exit 1; }
fi

# Another library.
old -Wl,--no-as-needed -l:libgcc_s.so.1
"$root/scripts/check-travel" program
! "$root/scripts/check-travel" --program program >told || { echo "libgcc_s.so.1 is accepted"; exit 1; }
grep -qx 'program: needs libgcc_s.so.1' told || { cat told; exit 1; }

# The loader of another machine.
case $($cc -dumpmachine) in
x86_64*) foreign=ld-linux-aarch64.so.1 ;;
*) foreign=ld-linux-x86-64.so.2 ;;
esac
echo 'int nothing;' | $cc -shared -fPIC -x c - -Wl,-soname,"$foreign" -o libforeign.so
old -Wl,--no-as-needed -L. -lforeign
! "$root/scripts/check-travel" --program program >told || { echo "$foreign is accepted"; exit 1; }
grep -qx "program: needs the loader of another machine, $foreign" told || { cat told; exit 1; }
! "$root/scripts/check-travel" program.c >told 2>&1 || { echo "text is accepted"; exit 1; }
