#!/bin/sh
# MPI in a process whose executable was not the one that is recorded, as under a launcher: test_launched.sh PROGRAM.
# The program does what it does natively, and the profile says that first uses are not watched. Recorded by
# itself, they are.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$GLINT" run --device sim -- "$1" mpi_sends >"$work/native" || true
head -n 1 "$work/native" | grep -q '^0 ' || { echo "SKIP: a process may not read another's memory here"; exit 77; }
"$GLINT" record -q --device sim -a sync -f -o "$work/launched.glint" -- sh -c '"$0" mpi_sends' "$1" >"$work/launched"
cmp "$work/native" "$work/launched"
"$GLINT" query "$work"/launched*.glint "SELECT text FROM v_notes" | grep -q 'first uses are not watched: MPI is loaded' ||
    { echo "nothing is noted"; exit 1; }
"$GLINT" record -q --device sim -a sync -f -o "$work/itself.glint" -- "$1" mpi_sends >"$work/itself"
cmp "$work/native" "$work/itself"
! "$GLINT" query "$work/itself.glint" "SELECT text FROM v_notes" | grep 'first uses' || exit 1
