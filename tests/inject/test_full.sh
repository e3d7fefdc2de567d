#!/bin/sh
# A recorder that does not read: the program continues normally, the first records arrive, and the
# dropped ones are counted. Also a recorder that does not exist or does not answer.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim
export LD_LIBRARY_PATH
programs=$GLINT_BUILD_DIR/tests/inject
library=$GLINT_BUILD_DIR/lib/glint/libglint.so

[ "$(WATCH_DEAF=1 "$programs/inject_watch" "$work/records" "$library" "$programs/inject_program" many)" = 'done' ]
grep -q '^call 2 cuMemAlloc_v2 alloc ' "$work/records"
grep -q '^DROPPED call$' "$work/records"
! grep '^DROPPED \(process\|function\|object\)' "$work/records" || exit 1

for socket in "$work/none" "$work" "$(printf '%0200d' 0)"; do
    [ "$(GLINT_SOCKET=$socket LD_PRELOAD=$library "$programs/inject_program" many)" = 'done' ]
done
