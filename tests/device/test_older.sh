#!/bin/sh
# test_older.sh OLDER: the device code for drivers of CUDA 11.4 has PTX 7.4, for GPUs from sm_70 on, and ptxas accepts
# it. Its kernels have the parameters of the code for newer drivers.
set -eu
older=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc=$("$GLINT_SOURCE_DIR/scripts/have" nvcc) || nvcc=
number=0
for name in reduce reduce_counts values values_others weigh; do
    number=$((number + 1))
    "$older" $number >"$work/ptx"
    [ "$(grep -E '^\.(version|target)' "$work/ptx" | tr '\n' ' ')" = ".version 7.4 .target sm_70 " ] ||
        { echo "$name: $(grep -E '^\.(version|target)' "$work/ptx")"; exit 1; }
    ! grep -n 'cvta\.param' "$work/ptx" || { echo "$name: see above"; exit 1; }
    for file in "$work/ptx" "$GLINT_SOURCE_DIR/src/device/$name.ptx"; do
        grep -E '\.entry|^[[:space:]]*\.param' "$file" >"$work/${file##*/}.heads"
    done
    diff "$work/ptx.heads" "$work/$name.ptx.heads"
    [ -z "$nvcc" ] || "${nvcc%nvcc}ptxas" -O0 -arch=sm_75 -o "$work/code" "$work/ptx"
done
[ $number = 5 ]
