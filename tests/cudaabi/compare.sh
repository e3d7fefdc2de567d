#!/bin/sh
# Compares src/cudaabi with the headers of a CUDA 13.0 toolkit: every constant, size, alignment and
# offset, and every prototype. Exits with 77 if there is no such toolkit.
set -eu
cd "$(dirname "$0")/../.."
nvcc=$(scripts/have nvcc) || exit 77
compiler=$(scripts/have cc) || exit 77
include=$(dirname "$(readlink -f "$nvcc")")/../include
[ -f "$include/cuda.h" ] || { echo "SKIP: no cuda.h beside $nvcc"; exit 77; }
grep -q 'define CUDA_VERSION 13000' "$include/cuda.h" || { echo "SKIP: the toolkit is not CUDA 13.0"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
headers="src/cudaabi/driver_values.h src/cudaabi/driver_types.h src/cudaabi/runtime_values.h src/cudaabi/runtime_types.h src/cudaabi/nvtx.h"
# shellcheck disable=SC2086 # a list
awk -f tests/cudaabi/names.awk $headers >"$work/names.inc"
count=$(wc -l <"$work/names.inc")
# One name for each declaration that awk recognized. The headers have about this many, so losses
# show.
[ "$count" -ge 3190 ] || { echo "only $count names were found in our headers"; exit 1; }

build() { # NAME FLAGS...
    name=$1
    shift
    "$compiler" -std=gnu11 -Isrc -I"$work" "$@" -o "$work/$name" tests/cudaabi/table.c
    "$work/$name" >"$work/$name.txt"
}
build ours
build theirs -DWITH_VENDOR_HEADERS -isystem "$include"
diff -u "$work/theirs.txt" "$work/ours.txt"

# The same prototypes, declared twice in one file, must agree.
{
    echo "#define __CUDA_API_VERSION_INTERNAL"
    echo "#include <cuda.h>"
    echo "#include <cudaProfiler.h>"
    echo "#include <cuda_runtime_api.h>"
    echo "#include <cuda_profiler_api.h>"
    grep -v '^#include' src/cudaabi/driver.h
    sed -e '/^#include/d' -e '/--- What compiled programs call/,/^#pragma/d' src/cudaabi/runtime.h
} >"$work/prototypes.c"
"$compiler" -std=gnu11 -isystem "$include" -fsyntax-only "$work/prototypes.c"
echo "$count names agree"
