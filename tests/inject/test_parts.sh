#!/bin/sh
# Kernels of nvcc's programs get probes with either runtime, however their code is compressed and
# linked, and the records agree. --kernels finds them by their names in the source.
set -eu
command -v nvcc > /dev/null || { echo "SKIP: no nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
here=$GLINT_SOURCE_DIR/tests/inject
cat "$here/parts_other.cu" "$here/parts.cu" | sed 's/^extern __.*//' >one.cu
compile() { nvcc -Wno-deprecated-gpu-targets -arch=compute_75 -code=compute_75 "$@"; }
compile -rdc=true -cudart shared -o parts "$here/parts.cu" "$here/parts_other.cu"
compile -rdc=true -o static_parts "$here/parts.cu" "$here/parts_other.cu"
compile -cudart shared -o one one.cu
compile -cudart shared --compress-mode=none -o plain one.cu
compile --compress-mode=speed -o static one.cu

# accesses PROGRAM [OPTION...]: prints each kernel and object, and how the kernel accessed the
# object.
accesses() {
    program=$1
    shift
    [ "$("$GLINT" record -q --device sim -f -o profile --cache cache "$@" -- "./$program")" = '2 2
3 1' ]
    "$GLINT" query --csv profile "SELECT k.name AS kernel, a.object, a.read, a.written FROM v_accesses a
        JOIN v_launches l ON l.call = a.call JOIN v_kernels k ON k.number = l.kernel ORDER BY a.call, a.object"
}

for program in parts static_parts one plain static; do
    [ "$("$GLINT" run --device sim -- "./$program")" = '2 2
3 1' ]
    accesses "$program" >found
    diff -u - found <<END
kernel,object,read,written
"void inner::plain<float>(float*, int)",2,1,1
"calls(float*, float const*)",1,0,1
"calls(float*, float const*)",2,1,0
other(float*),2,0,1
END
    accesses "$program" -k '^inner::plain$|^other' >found
    diff -u - found <<END
kernel,object,read,written
"void inner::plain<float>(float*, int)",2,1,1
other(float*),2,0,1
END
done
# If a kernel calls a function of another part, accesses of that function are not seen, and the
# profile says so.
accesses parts >found
"$GLINT" query profile "SELECT reason FROM v_probes WHERE name LIKE 'calls%'" | grep -q 'twice'
echo "3 kernels with probes: in one part and in two, static and shared runtime, code as it is and compressed"
