#!/bin/sh
# Runs the program $2 on the simulated GPU in folder $1. It must print what an H200 prints, which is
# in behaviour.expected, or in $3.expected. (scripts/gpu-test runs it on a GPU.)
set -eu
expected=$(dirname "$0")/${3:-behaviour}.expected
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$1 "$2" >"$work/printed" 2>"$work/said" || { cat "$work/printed" "$work/said"; exit 1; }
diff -u "$expected" "$work/printed"
