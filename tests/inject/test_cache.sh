#!/bin/sh
# test_cache.sh PROGRAM: rewritten modules, and the code linked from them, are cached in a folder
# and found again. Entries that are damaged, truncated or not the user's are made anew. Whatever is
# wrong with the folder, the program behaves the same.
set -eu
program=$1
programs=$GLINT_BUILD_DIR/tests/inject
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim
export LD_LIBRARY_PATH
unset GLINT_CACHE XDG_CACHE_HOME
GLINT_PROBES=1
export GLINT_PROBES

fail() {
    echo "$*"
    exit 1
}

# run [VARIABLE=VALUE...]: the program with probes behaves as without glint and records the same
# each time.
run() {
    env "$@" "$programs/inject_watch" "$work/records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" "$program" samples \
        >"$work/out" 2>&1 || fail "exit status $? with $*"
    cmp "$work/plain" "$work/out"
    grep '^access' "$work/records" >"$work/accesses" || fail "nothing is told with $*"
    [ -e "$work/first" ] || cp "$work/accesses" "$work/first"
    cmp "$work/first" "$work/accesses"
}

# entries FOLDER: prints how many files are in the folder, whatever their names.
entries() {
    find "$1" -type f | wc -l
}

"$programs/inject_watch" - - "$program" samples >"$work/plain" 2>&1

# Each module has two entries: its rewritten text, and its linked parts.
cache=$work/a/b
run GLINT_CACHE="$cache"
[ "$(entries "$cache")" = 2 ] || fail "$(entries "$cache") entries"
cp -r "$cache" "$work/good"
mkdir "$work/same"
for entry in "$cache"/*; do
    ln "$entry" "$work/same"
    touch -d 2001-01-01 "$entry"
done
run GLINT_CACHE="$cache"
for entry in "$cache"/*; do
    [ "$work/same/${entry##*/}" -ef "$entry" ] || fail "a good entry is written again"
    [ "$(stat -c %Y "$entry")" -gt 1000000000 ] || fail "the use of an entry leaves no trace"
done

# spoil COMMAND...: the command damages an entry, and glint must not use it.
spoil() {
    "$@"
    run GLINT_CACHE="$cache"
    diff -r "$work/good" "$cache"
}
for entry in "$cache"/*; do
    bytes=$(stat -c %s "$entry")
    for at in 0 20 40 60 100 $((bytes / 2)) $((bytes - 1)); do
        spoil sh -c "printf '\\377' | dd of='$entry' bs=1 seek=$at conv=notrunc 2>/dev/null"
    done
    for length in 0 1 71 72 $((bytes - 1)); do
        spoil truncate -s "$length" "$entry"
    done
    spoil sh -c "echo more >> '$entry'"
    spoil sh -c "rm '$entry' && mkfifo '$entry'"
    spoil sh -c "rm '$entry' && ln -s '$work/good/${entry##*/}' '$entry'"
done
rm -r "$cache" "$work/first" # under the names of others
run GLINT_CACHE="$cache" GLINT_PROBES=3
for other in "$cache"/*; do
    [ ! -e "$work/good/${other##*/}" ] || fail "what is asked for is no part of the key"
    for entry in "$work/good"/*; do
        cp "$entry" "$other"
        run GLINT_CACHE="$cache" GLINT_PROBES=3
        ! cmp -s "$entry" "$other" || fail "the entry of another module is believed"
    done
done
rm -f "$work/first"
run GLINT_CACHE="$cache" GLINT_KERNELS=add
[ "$(entries "$cache")" = 4 ] || fail "the kernels are no part of the key"

# Several processes use the cache at once.
rm -rf "$cache" "$work/first"
for i in 1 2 3 4; do
    env GLINT_CACHE="$cache" "$programs/inject_watch" "$work/records.$i" "$GLINT_BUILD_DIR/lib/glint/libglint.so" \
        "$program" samples >"$work/out.$i" 2>&1 &
done
wait
for i in 1 2 3 4; do
    cmp "$work/plain" "$work/out.$i"
done
diff -r "$work/good" "$cache" || fail "several at once leave $(find "$cache" -type f)"

# Where the folder is.
run XDG_CACHE_HOME="$work/xdg"
[ "$(entries "$work/xdg/glint")" = 2 ] || fail "no entry under XDG_CACHE_HOME"
run HOME="$work/home"
[ "$(entries "$work/home/.cache/glint")" = 2 ] || fail "no entry under HOME"
run HOME="$work/home2" GLINT_CACHE=
[ ! -e "$work/home2" ] || fail "an empty GLINT_CACHE keeps modules"

# A folder that cannot be created, a file in its place, and a folder that cannot be written.
run GLINT_CACHE=/dev/null/glint
: >"$work/file"
run GLINT_CACHE="$work/file"
[ ! -s "$work/file" ] || fail "a file in the folder's place is written"
mkdir "$work/closed"
chmod a-w "$work/closed"
run GLINT_CACHE="$work/closed"
chmod u+w "$work/closed"

# The least recently used entry is evicted. Files that are not entries stay.
rm -rf "$cache"
mkdir -p "$cache"
for i in 1 2 3; do
    truncate -s 100M "$cache/0000000000000000000000000000000$i"
    touch -d "2001-01-0$i" "$cache/0000000000000000000000000000000$i"
done
truncate -s 300M "$cache/mine"
run GLINT_CACHE="$cache"
for i in 1 2; do
    [ ! -e "$cache/0000000000000000000000000000000$i" ] || fail "entry $i is still there"
done
[ -e "$cache/00000000000000000000000000000003" ] || fail "the newest had to go"
[ -e "$cache/mine" ] || fail "a file of another's is gone"
for entry in "$work/good"/*; do
    cmp "$entry" "$cache/${entry##*/}"
done
