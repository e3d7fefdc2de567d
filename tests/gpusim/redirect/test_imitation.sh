#!/bin/sh
# test_imitation.sh SOURCES CC [EMULATOR]: tests the redirection with an imitated static runtime.
# SOURCES is the folder src, CC a compiler for x86_64 or aarch64, EMULATOR the command that runs its
# programs.
set -eu
sources=$1 cc=$2 emulator=${3-}
here=$(cd "$(dirname "$0")" && pwd)
for tool in "$cc" $emulator; do
    command -v "$tool" >/dev/null || { echo "SKIP: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0 passed=0

build() { "$cc" -std=gnu11 -D_GNU_SOURCE -g -I"$sources" -I"$here" "$@"; }

# run PROGRAM ARGUMENT...: runs with the redirection; writes the files stdout, stderr and status.
run() {
    if [ -n "$emulator" ]; then
        set -- "$emulator" -E LD_PRELOAD="$work/sim/libglint-redirect.so" -E LD_LIBRARY_PATH="$work" "$@"
    else
        set -- env LD_PRELOAD="$work/sim/libglint-redirect.so" LD_LIBRARY_PATH="$work" "$@"
    fi
    status=0
    "$@" >stdout 2>stderr || status=$?
    echo $status >status
}

# check NAME STATUS: compares stdout with the file wanted, and stderr with wanted.err.
check() {
    if [ "$(cat status)" = "$2" ] && diff -u wanted stdout && diff -u wanted.err stderr; then
        passed=$((passed + 1))
    else
        echo "FAILED $1: status $(cat status), wanted $2"
        cat stdout stderr
        failed=$((failed + 1))
    fi
}

mkdir sim
build -O2 -fPIC -fvisibility=hidden -shared -o sim/libglint-redirect.so -Wl,-z,initfirst -Wl,-z,now \
    "$sources/gpusim/redirect/redirect.c" "$sources/gpusim/redirect/elf.c" "$sources/gpusim/redirect/entry.c" \
    "$sources/gpusim/redirect/patch.c"
build -O1 -fPIC -shared -o sim/libcudart.so.13 "$here/fake_cudart.c"
build -O1 -fPIC -fvisibility=hidden -c -o vendor-library.o "$here/vendor.c"
build -O1 -fPIC -shared -o liblinked.so "$here/library.c" vendor-library.o
build -O1 -fPIC -shared -o libopened.so "$here/library.c" vendor-library.o

cat >wanted <<'END'
register fatbin
registered
own 11 12 13
malloc 64
malloc says 0
memory is there
malloc 65
malloc says 0
tiny 5 5
many 1 2 3.5 4.5 1 6 7 8.5 9.5 10.5 11.5 12.5 13.5 14.5 15 16 17 18.5
large 1 6
many 1 2 3.5 4.5 1 6 7 8.5 9.5 10.5 11.5 12.5 13.5 14.5 15 16 17 18.5
large 1 6
not there 801 801
no error of the fake
unregister
END
echo "glint: cudaNotThere is not supported by the simulated GPU" >wanted.err
cp wanted wanted.program

for style in -fPIE:-pie -fno-pie:-no-pie; do
    for optimised in -O0 -O1 -Os; do
        build $optimised "${style%:*}" -fvisibility=hidden -c -o vendor.o "$here/vendor.c"
        build $optimised "${style%:*}" "${style#*:}" -o program "$here/program.c" vendor.o "$here/after.c"
        run ./program
        check "program ${style#*:} $optimised" 7
    done
done
build -O1 -fvisibility=hidden -c -o vendor.o "$here/vendor.c"
build -O1 -Wl,-z,relro,-z,now -Wl,-z,pack-relative-relocs -o program "$here/program.c" vendor.o "$here/after.c" 2>/dev/null ||
    build -O1 -Wl,-z,relro,-z,now -o program "$here/program.c" vendor.o "$here/after.c"
run ./program
check "all bound at start" 7

# Constructors of a library run before the program's, and both run after the redirection.
build -O1 -o linked "$here/program.c" vendor.o "$here/after.c" -L. -Wl,--no-as-needed -llinked
{ echo "malloc 66"; echo "library: malloc says 0, tiny 5"; cat wanted.program; } >wanted
run ./linked
check "a library that the program is linked with" 7

# A library that is opened, closed and opened again is mapped anew and redirected anew.
{
    sed '$d' wanted.program
    for _ in 1 2; do echo "malloc 66"; echo "library: malloc says 0, tiny 5"; echo "open worked"; done
    tail -n 1 wanted.program
} >wanted
run ./program ./libopened.so ./libopened.so
check "a library that the program opens, twice" 7

# A stripped program does not start, with a message. A stripped library only causes a message.
"$("$cc" -print-prog-name=strip)" -o stripped program
: >wanted
cat >wanted.err <<'END'
glint: ./stripped holds the static CUDA runtime, and is stripped of the symbols by which glint would lead it to the simulated GPU: link it with 'nvcc -cudart shared', or without strip and -s
END
run ./stripped
check "a stripped program" 125

"$("$cc" -print-prog-name=strip)" -x -o local program
sed -i s,/stripped,/local, wanted.err
run ./local
check "a program stripped of local symbols" 125
# A runtime without device code is recognized by its constants.
build -O1 -o marked "$here/marked.c"
cp wanted.err wanted.local
: >wanted.err
run ./marked
check "a program with the runtime's constants and symbols" 8
cp wanted.local wanted.err
"$("$cc" -print-prog-name=strip)" -o stripped marked
sed -i s,/local,/stripped, wanted.err
run ./stripped
check "a stripped program without device code" 125

"$("$cc" -print-prog-name=strip)" -o libstripped.so libopened.so
{ sed '$d' wanted.program; echo "the vendor's runtime ran"; } >wanted
cat >wanted.err <<'END'
glint: cudaNotThere is not supported by the simulated GPU
glint: ./libstripped.so holds a CUDA runtime of its own without symbols: its calls do not reach the simulated GPU and will fail
END
run ./program ./libstripped.so
check "a stripped library that the program opens" 3
: >wanted

# NVIDIA's libraries without a stand-in: a program linked with one does not start; one that opens it gets a message.
echo 'int of_cusolver(void) { return 1; }' >cusolver.c
build -fPIC -shared -Wl,-soname,libcusolver.so.12 -o libcusolver.so.12 cusolver.c
echo 'int of_cusolver(void); int main(void) { return of_cusolver(); }' >needs.c
build -o needs needs.c ./libcusolver.so.12
echo "glint: ./needs needs NVIDIA's libraries, which cannot run on the simulated GPU: libcusolver" >wanted.err
run ./needs
check "a program that needs cuSOLVER" 125
cat >opens.c <<'END'
#include <dlfcn.h>
int main(void) { return dlopen("./libcusolver.so.12", RTLD_NOW) ? 6 : 1; }
END
build -o opens opens.c -ldl
echo "glint: libcusolver was loaded: NVIDIA's libraries cannot run on the simulated GPU, and their calls will fail" >wanted.err
run ./opens
check "a program that opens cuSOLVER" 6

# A program without CUDA behaves as before.
echo 'int main(void) { return 9; }' >plain.c
build -o plain plain.c
: >wanted.err
run ./plain
check "a program without CUDA" 9

# The simulated GPU's runtime is missing.
rm sim/libcudart.so.13
run ./program
if [ "$(cat status)" = 125 ] && grep -q "^glint: the simulated GPU's runtime cannot be loaded: .*libcudart.so.13" stderr; then
    passed=$((passed + 1))
else
    echo "FAILED without libcudart: $(cat status stderr)"
    failed=$((failed + 1))
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
