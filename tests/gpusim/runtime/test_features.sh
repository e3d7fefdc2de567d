#!/bin/sh
# Builds features.cu, for the legacy and for the per-thread default stream, and thrust.cu with nvcc, and
# runs them on the simulated GPU in folder $1.
set -eu
sim=$1
here=$(dirname "$0")
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Builds source $1 with the options that follow, and runs it.
try() {
    source=$1
    shift
    "$nvcc" -std=c++17 -O2 -arch=compute_90 -cudart shared "$@" -o "$work/program" "$here/$source"
    LD_LIBRARY_PATH=$sim "$work/program"
}
try features.cu
try features.cu --default-stream per-thread
try thrust.cu
