#!/bin/sh
# test_unprivileged.sh PROGRAM: without CAP_SYS_PTRACE a program whose results are handed to the
# system past the C library does as natively when it is recorded with sync and run by glint fix. Both
# say what the system would have to permit, and no use of a result is recorded.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v capsh >/dev/null || { echo "SKIP: capsh is missing"; exit 77; }
capsh --drop=cap_sys_ptrace -- -c true 2>/dev/null || { echo "SKIP: capabilities cannot be dropped"; exit 77; }
unset GLINT_PROTECT_PAGES

# without COMMAND...: runs it without the capability.
without() {
    capsh --drop=cap_sys_ptrace -- -c 'exec "$0" "$@"' "$@"
}

native=$("$GLINT" run --device sim -- "$program" raw_write)
found=$(without "$GLINT" record -q --device sim -a objects,sync -o "$work/profile" -- "$program" raw_write)
[ "$found" = "$native" ] || { echo "recorded: $found, not $native"; exit 1; }
notes=$("$GLINT" query --csv "$work/profile" "SELECT text FROM v_notes WHERE text LIKE 'first uses are not watched:%CAP_SYS_PTRACE%'")
[ "$(echo "$notes" | wc -l)" = 2 ] || { echo "nothing is noted"; exit 1; }
how=$("$GLINT" query --csv "$work/profile" "SELECT DISTINCT how FROM v_first_uses" | tail -n +2)
[ "$how" = unknown ] || { echo "uses are '$how'"; exit 1; }
found=$(without "$GLINT" fix --device sim -- "$program" raw_write 2>"$work/told")
[ "$found" = "$native" ] || { echo "fixed: $found, not $native"; exit 1; }
grep -q 'waits and copies are not corrected:.*CAP_SYS_PTRACE' "$work/told" || { cat "$work/told"; exit 1; }

# The profile of another machine may suggest to correct waits.
"$GLINT" record -q -f --device sim -a objects,sync -o "$work/profile" -- "$program" raw_write >/dev/null
found=$(without "$GLINT" fix --no-native --device sim -p "$work/profile" -- "$program" raw_write 2>"$work/told")
[ "$found" = "$native" ] || { echo "corrected: $found, not $native"; exit 1; }
grep -q 'no waits or copies are corrected:.*CAP_SYS_PTRACE' "$work/told" || { cat "$work/told"; exit 1; }
