#!/bin/sh
# Memory that is kept while first uses are watched for is not noticed: test_spare.sh PROGRAM
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Natively, and watched: in both the program checks itself; watched, blocks are kept.
[ "$("$GLINT" run --device sim -- "$program")" = ok ]
said=$("$GLINT" record -q -f -a sync -o "$work/profile" --device sim -- "$program" kept) || { echo "$said"; exit 1; }
[ "$said" = ok ]
# Of 20 copies, the 13 that are looked at are told, and no other.
told=$("$GLINT" query "$work/profile" "SELECT count(*) FROM v_first_uses WHERE how = 'read'" | tail -n 1)
[ "$told" = 13 ] || { echo "$told first uses"; exit 1; }
