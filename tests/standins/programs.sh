#!/bin/sh
# Programs that link cuBLAS, on the simulated GPU: they start and get the stand-in in folder $1, also where a library of
# that name is found first otherwise; recordings see launches and objects; functions beyond the stand-in are refused by
# name when they are called.
set -eu
sim=$1
source=${GLINT_SOURCE_DIR:-$PWD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

check() { # what, wanted, is
    [ "$2" = "$3" ] || { printf '%s:\nwanted: %s\nis:     %s\n' "$1" "$2" "$3"; exit 1; }
}

# Imitations of NVIDIA's libraries, which must not be loaded: their constructors end the program.
mkdir theirs
echo '__attribute__((constructor)) static void start(void) { __builtin_trap(); }' >trap.c
for version in 12 13; do
    cc -shared -fPIC -Wl,-soname,libcublas.so.$version -o theirs/libcublas.so.$version trap.c
    for style in --enable-new-dtags --disable-new-dtags; do
        cc -g -I"$source/src" -o program "$source/tests/standins/multiply.c" "$sim/libcublas.so.$version" \
            -L"$sim" -l:libcuda.so.1 -Wl,$style,-rpath,"$work/theirs"
        check "so.$version $style" "23 34 31 46" "$("$GLINT" run --device sim -- ./program)"
    done
done

"$GLINT" run --device sim -- ./program refused >stdout 2>stderr
check "a refused call" "CUBLAS_STATUS_NOT_SUPPORTED
23 34 31 46" "$(cat stdout)"
check "its message" "glint: cublasSgeqrfBatched is not supported by the simulated GPU" "$(cat stderr)"

"$GLINT" record -q -f -o profile --device sim -- ./program >stdout
check "the recorded program" "23 34 31 46" "$(cat stdout)"
check "the launch" "cublas_sproduct probes" \
    "$("$GLINT" query profile 'select name, known_by from v_launches' | sed -n '2s/\t/ /p')"
check "the objects" "48" "$("$GLINT" query profile 'select bytes from v_objects' | sed -n '2,$p')"
check "the line that calls" "main multiply.c" \
    "$("$GLINT" query profile 'select function, file from v_call_paths where id = (select call_path from v_launches) and depth = 0' |
        sed -n '2s|\t.*/| |p')"
