#!/bin/sh
# Programs that link stand-ins, on the simulated GPU: they start and get the one in folder $1, also where a library of
# that name is found first otherwise; recordings see launches and objects; functions beyond the stand-in are refused by
# name when they are called. A program that links another library of NVIDIA's does not start.
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

# Every stand-in that there is. The program calls none of its functions.
echo 'int main(void) { return 3; }' >nothing.c
count=0
for library in "$sim"/libcu*.so.*; do
    name=${library##*/}
    case $name in libcuda.so* | libcudart.so*) continue ;; esac
    cc -shared -fPIC -Wl,-soname,"$name" -o "theirs/$name" trap.c
    for style in --enable-new-dtags --disable-new-dtags; do
        cc -o nothing nothing.c -Wl,--no-as-needed "$library" -L"$sim" -l:libcuda.so.1 -Wl,$style,-rpath,"$work/theirs"
        status=0
        "$GLINT" run --device sim -- ./nothing || status=$?
        check "a program with $name $style" 3 $status
    done
    count=$((count + 1))
done
[ $count -ge 8 ] || { echo "only $count stand-ins"; exit 1; }
for name in libcufft.so.10 libcusolver.so.12; do
    cc -shared -fPIC -Wl,-soname,$name -o theirs/$name trap.c
    cc -o nothing nothing.c -Wl,--no-as-needed theirs/$name -Wl,-rpath,"$work/theirs"
    status=0
    "$GLINT" run --device sim -- ./nothing 2>stderr || status=$?
    check "a program with $name" 125 $status
    grep -q "needs NVIDIA's libraries, which cannot run on the simulated GPU: ${name%%.*}" stderr ||
        { cat stderr; exit 1; }
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
