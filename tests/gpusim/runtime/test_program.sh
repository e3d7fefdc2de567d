#!/bin/sh
# Builds source $2 with nvcc and the options that follow, and runs it on the simulated GPU in folder $1.
set -eu
sim=$1
source=$2
shift 2
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NVCC=$nvcc "$(dirname "$0")/../../compile" "$work/program" "$source" -O2 -g -Wno-deprecated-gpu-targets -std=c++17 \
    -arch=compute_90 -cudart shared "$@"
LD_LIBRARY_PATH=$sim "$work/program"
