#!/bin/sh
# test_refused.sh PROGRAM FORGE: if the driver rejects rewritten code, the original code runs, and
# the records say why. The test forges rewritten code in the cache.
set -eu
program=$1 forge=$2
programs=$GLINT_BUILD_DIR/tests/inject
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim GLINT_PROBES=1 GLINT_CACHE=$work/cache
export LD_LIBRARY_PATH GLINT_PROBES GLINT_CACHE

fail() {
    echo "$*"
    cat "$work/records"
    exit 1
}

# run MODE: the program's output is the same as without glint, apart from the driver's standard
# error.
run() {
    "$programs/inject_watch" - - "$program" "$1" "$work/ptx" >"$work/plain" 2>/dev/null
    "$programs/inject_watch" "$work/records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" "$program" "$1" "$work/ptx" \
        >"$work/out" 2>/dev/null || fail "exit status $?"
    cmp "$work/plain" "$work/out"
}

# forged MODE FROM TO: runs with the first FROM in the rewritten code replaced by TO. Code that was
# linked from it is deleted.
forged() {
    rm -rf "$GLINT_CACHE"
    run "$1"
    grep -q '^probe kernel .* facts 33$' "$work/records" || fail "no probes"
    done=''
    for entry in "$GLINT_CACHE"/????*; do # not the key
        status=0
        "$forge" "$entry" "$2" "$3" || status=$?
        case $status in
        0) done=yes ;;
        3) rm "$entry" ;;
        *) fail "forge: exit status $status" ;;
        esac
    done
    [ -n "$done" ] || fail "there is nothing to forge"
    run "$1"
}

# says TEXT, silent TEXT: whether some record contains the text.
says() {
    grep -q "$1" "$work/records" || fail "nobody says: $1"
}
silent() {
    ! grep -q "$1" "$work/records" || fail "somebody says: $1"
}

# A module that cannot be loaded by any function; clones in parts are loaded nevertheless.
forged modules '.entry tick$glint' '.entry 0'
says '^probe kernel 1 facts 33$'
says '^access call'
forged launches '.entry tick$glint' '.entry 0'
says '^probe kernel [0-9]* facts 0: the driver refuses the rewritten module (error [0-9]*)$'
says '^probe kernel 1 facts 33$'
# A part that cannot be loaded.
forged samples '.entry add$glint' '.entry 0'
says '^probe kernel 1 facts 0: the driver does not load its clone'
silent '^access call 9 '
# A clone that is missing.
forged samples '.entry add$glint' '.entry odd$glint'
says '^probe kernel 1 facts 0: the driver does not load its clone'
says '^access call 16 object 1 written'
silent '^access call 9 '
# A clone that the driver neither launches nor accepts as a graph's node, like one that needs more
# resources than the kernel.
forged samples '	.param .u64 q,
	.param .u32 n,
	.param .align 8 .b8 glint$context[200]
)' '	.param .u64 q,
	.param .u32 n,
	.param .align 8 .b8 glint$context[200]
)
.maxntid 1, 1, 1'
says '^note kernel add: the driver does not launch it with probes (error 1)$'
says '^access call 16 object 1 written'
silent '^access call 9 '
silent '^access call .* node 1 '
