#!/bin/sh
# Compares libcudart.so.13 in folder $1 with the toolkit's: both export the same functions with the
# same symbol versions, and have the same names and texts of every error code.
set -eu
sim=$1
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
theirs=$(dirname "$(readlink -f "$nvcc")")/../lib64/libcudart.so.13
[ -f "$theirs" ] || { echo "SKIP: no libcudart.so.13 beside $nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the functions that library $1 exports, with their versions.
exports() {
    nm --dynamic --defined-only "$1" | awk '$2 ~ /[TW]/ { print $3 }' | sort
}
exports "$theirs" >"$work/theirs"
exports "$sim/libcudart.so.13" >"$work/ours"
diff -u "$work/theirs" "$work/ours"

for version in 12 11.0; do
    exports "$sim/libcudart.so.$version" | grep -v "@@libcudart.so.$version\$" && exit 1
    exports "$sim/libcudart.so.$version" | grep -q "^cudaMalloc@@libcudart.so.$version\$"
done
exports "$sim/libcudart.so.12" | grep -q '^cudaGetDeviceProperties_v2@@'

cat >"$work/errors.c" <<'EOF'
#include <stdio.h>
const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);
int main(void)
{
    for (int i = -1; i < 10010; i++)
        printf("%d %s: %s\n", i, cudaGetErrorName(i), cudaGetErrorString(i));
    return 0;
}
EOF
cc -o "$work/errors" "$work/errors.c" "$theirs"
LD_LIBRARY_PATH=$(dirname "$theirs") "$work/errors" >"$work/theirs"
LD_LIBRARY_PATH=$sim "$work/errors" >"$work/ours"
diff -u "$work/theirs" "$work/ours"
