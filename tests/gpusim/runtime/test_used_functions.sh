#!/bin/sh
# The libraries in folder $1 export every function that real programs use (used_functions.txt), and
# none of these functions is a stub that reports that it is not supported.
set -eu
export LC_ALL=C
sim=$1
here=$(dirname "$0")
sources=${GLINT_SOURCE_DIR:-.}/src/gpusim
command -v nm >/dev/null || { echo "SKIP: no nm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for library in libcudart.so.13 libcuda.so.1; do
    nm --dynamic --defined-only "$sim/$library"
done | awk '$2 ~ /[TW]/ { sub("@.*", "", $3); print $3 }' | sort -u >"$work/exported"
# Functions named in MISSING(...), and functions whose body is RUNTIME_MISSING().
{
    sed -n 's/^MISSING(\([A-Za-z0-9_]*\)).*/\1/p' "$sources"/*/missing.c
    awk '/^[a-zA-Z].*\(/ { name = $0; sub("\\(.*", "", name); sub(".* ", "", name) }
         /return RUNTIME_MISSING\(\)/ { print name }' "$sources"/runtime/*.c "$sources"/runtime/versions/*.c
} | sort -u >"$work/missing"
[ "$(wc -l <"$work/missing")" -gt 50 ] || { echo "the lists of missing functions were not read"; exit 1; }

grep -v '^#' "$here/used_functions.txt" | sed 's/ .*//' | sort >"$work/used"
grep -v '^#' "$here/used_functions.txt" | grep -v ' absent$' | sort >"$work/needed"
comm -23 "$work/used" "$work/exported" | sed 's/$/ is not exported/' >"$work/problems"
comm -12 "$work/needed" "$work/missing" | sed 's/$/ is not there/' >>"$work/problems"
cat "$work/problems"
[ ! -s "$work/problems" ]
