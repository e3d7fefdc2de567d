#!/bin/sh
# test_behaviour.sh FOLDER NAME OPTION...: builds NAME.cu with nvcc and the options, and runs it on the simulated GPU in
# the folder. It must print what an H200 printed, which is in NAME.expected. (scripts/gpu-test runs it on a GPU.)
set -eu
sim=$1
program=$(dirname "$0")/$2
shift 2
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NVCC=$nvcc "$(dirname "$0")/../../compile" "$work/program" "$program.cu" -O1 -arch=compute_90 -cudart shared "$@"
LD_LIBRARY_PATH=$sim "$work/program" >"$work/printed" 2>"$work/said" || { cat "$work/printed" "$work/said"; exit 1; }
diff -u "$program.expected" "$work/printed"
