#!/bin/sh
# Builds behaviour.cu with nvcc and runs it on the simulated GPU in folder $1: it must print what an H200
# printed, which is behaviour.expected. (On a GPU: nvcc -O1 -arch=compute_90 behaviour.cu && ./a.out.)
set -eu
sim=$1
here=$(dirname "$0")
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nvcc" -O1 -arch=compute_90 -cudart shared -o "$work/behaviour" "$here/behaviour.cu"
LD_LIBRARY_PATH=$sim "$work/behaviour" >"$work/printed" 2>"$work/said" || { cat "$work/said"; exit 1; }
diff -u "$here/behaviour.expected" "$work/printed"
