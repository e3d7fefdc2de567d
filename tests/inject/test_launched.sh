#!/bin/sh
# test_launched.sh PROGRAM: MPI in a process that a launcher started, so that glint recorded another
# executable first. The program behaves as it does natively, and the profile says that first uses
# are not watched. If the program is recorded directly, they are watched.
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
