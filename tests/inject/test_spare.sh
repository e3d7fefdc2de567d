#!/bin/sh
# test_spare.sh PROGRAM: blocks that glint keeps while it watches for first uses do not disturb the
# program.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The program checks itself in a native run and in a watched run. In the watched run, blocks are
# kept.
[ "$("$GLINT" run --device sim -- "$program")" = ok ]
said=$("$GLINT" record -q -f -a sync -o "$work/profile" --device sim -- "$program" kept) || { echo "$said"; exit 1; }
[ "$said" = ok ]
# Of 20 copies, exactly the 13 that the program reads are recorded as used.
told=$("$GLINT" query "$work/profile" "SELECT count(*) FROM v_first_uses WHERE how = 'read'" | tail -n 1)
[ "$told" = 13 ] || { echo "$told first uses"; exit 1; }
