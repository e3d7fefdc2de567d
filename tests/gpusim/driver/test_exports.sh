#!/bin/sh
# Every function of the driver library with which the toolkit links programs is also in the libcuda.so.1 of folder $1.
set -eu
sim=$1
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
theirs=$(dirname "$(readlink -f "$nvcc")")/../lib64/stubs/libcuda.so
[ -f "$theirs" ] || { echo "SKIP: no stubs/libcuda.so beside $nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

exports() {
    nm --dynamic --defined-only "$1" | awk '$2 ~ /[TW]/ { sub(/@.*/, "", $3); print $3 }' | grep '^cu' | LC_ALL=C sort -u
}
exports "$theirs" >"$work/theirs"
exports "$sim/libcuda.so.1" >"$work/ours"
[ -s "$work/theirs" ]
if LC_ALL=C comm -23 "$work/theirs" "$work/ours" | grep .; then
    echo "libcuda.so.1 lacks the functions above"
    exit 1
fi
