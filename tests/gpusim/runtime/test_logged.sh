#!/bin/sh
# test_logged.sh LIBRARIES GENERATED SOURCES: every function that the simulated GPU's libraries
# export logs its calls, either in a generated wrapper (src/gpusim/calls/calls.awk) or itself.
set -eu
LC_ALL=C
export LC_ALL
command -v nm >/dev/null || { echo "SKIP: no nm"; exit 77; }
libraries=$1 generated=$2 sources=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

{
    # Unsupported functions, and the entry point of the log.
    sed -n 's/^\(MISSING\|REFUSED\)(\([A-Za-z0-9_]*\)).*/\2/p' "$sources"/driver/missing.c "$sources"/runtime/*.c "$sources"/runtime/versions/*.c
    echo cuGetExportTable
} | sort -u >"$scratch/themselves"

status=0
# check LIBRARY GENERATED-NAME LEAST
check() {
    nm -D --defined-only "$libraries/$1" | sed -n 's/.* T \([^@]*\).*/\1/p' | sort -u >"$scratch/exported"
    sed -n 's/.*__asm__("\([A-Za-z0-9_]*\)").*/\1/p' "$generated/$2_calls.c" | sort -u >"$scratch/wrapped"
    count=$(sort -u "$scratch/wrapped" "$scratch/themselves" | comm -12 - "$scratch/exported" | wc -l)
    [ "$count" -ge "$3" ] || { echo "$1: only $count functions were found"; status=1; }
    sort -u "$scratch/wrapped" "$scratch/themselves" | comm -23 "$scratch/exported" - >"$scratch/silent"
    [ ! -s "$scratch/silent" ] || { echo "$1: these do not tell the log:"; cat "$scratch/silent"; status=1; }
}
check libcuda.so.1 driver 600
check libcudart.so.13 runtime_13 400
check libcudart.so.12 runtime_12 400
check libcudart.so.11.0 runtime_11_0 400
exit $status
