#!/bin/sh
# Tests tests/cli/run itself: it passes, fails, skips and updates as documented, with `cat` as
# glint.
set -eu
run=$(cd "$(dirname "$0")/.." && pwd)/cli/run
GLINT=$(command -v cat)
export GLINT
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"

# expect STATUS [ARGUMENT...]: checks the exit status of the runner on t.sh.
expect() {
    wanted=$1
    shift
    "$run" "$@" t.sh >log 2>&1 && status=0 || status=$?
    [ "$status" = "$wanted" ] || { echo "line $line: exit status $status, expected $wanted:"; cat log; exit 1; }
}

line="exact output"
# shellcheck disable=SC2016
echo 'echo one >"$SCRATCH/file" && "$GLINT" "$SCRATCH/file"' >t.sh
expect 0
echo one >t.stdout
expect 0
echo two >t.stdout
expect 1
expect 0 --update
[ "$(cat t.stdout)" = one ]
expect 0

line="patterns"
mv t.stdout t.stdout.glob
echo 'o*e' >t.stdout.glob
expect 0
echo 'o*x' >t.stdout.glob
expect 1
expect 1 --update
rm t.stdout.glob

line="exit status"
echo 'echo oops >&2; exit 3' >t.sh
expect 1
expect 0 --update
[ "$(cat t.exit)" = 3 ] && [ "$(cat t.stderr)" = oops ]
expect 0
rm t.exit t.stderr t.stdout

line="skipping"
echo 'echo "SKIP: no reason"; exit 77' >t.sh
expect 77
grep -q '^SKIP: no reason$' log
echo 77 >t.exit
expect 0
