#!/bin/sh
# test_cache.sh PROGRAM: rewritten modules, and the code linked from them, are cached in a folder
# and found again. Entries that are damaged, truncated, not the user's, writable by others or not
# hashed with the folder's key are made anew. A folder that others may write is not used. Whatever
# is wrong with the folder, the program behaves the same.
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

# entries FOLDER: prints how many files are in the folder, whatever their names, but for its key.
entries() {
    find "$1" -type f ! -name key | wc -l
}

"$programs/inject_watch" - - "$program" samples >"$work/plain" 2>&1

# Each module has two entries: its rewritten text, and its linked parts.
cache=$work/a/b
run GLINT_CACHE="$cache"
[ "$(entries "$cache")" = 2 ] || fail "$(entries "$cache") entries"
[ "$(stat -c '%a %s' "$cache/key")" = "600 16" ] || fail "the key is $(stat -c '%a %s' "$cache/key")"
cp -rp "$cache" "$work/good"
mkdir "$work/same"
for entry in "$cache"/????*; do
    ln "$entry" "$work/same"
    touch -d 2001-01-01 "$entry"
done
run GLINT_CACHE="$cache"
for entry in "$cache"/????*; do
    [ "$work/same/${entry##*/}" -ef "$entry" ] || fail "a good entry is written again"
    [ "$(stat -c %Y "$entry")" -gt 1000000000 ] || fail "the use of an entry leaves no trace"
done

# spoil COMMAND...: the command damages an entry, and glint must not use it.
spoil() {
    "$@"
    run GLINT_CACHE="$cache"
    diff -r "$work/good" "$cache"
}
for entry in "$cache"/????*; do
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
    for mode in 620 602 666; do
        spoil chmod "$mode" "$entry"
        [ "$(stat -c %a "$entry")" = 600 ] || fail "an entry that others may write is used"
    done
done

# Entries of another key are written again, and a key that is no secret is replaced.
run GLINT_CACHE="$work/other"
! cmp -s "$work/other/key" "$cache/key" || fail "two folders have the same key"
for entry in "$work/good"/????*; do
    ! cmp -s "$entry" "$work/other/${entry##*/}" || fail "the hash does not depend on the key"
    spoil cp "$work/other/${entry##*/}" "$cache"
done
for bad in "chmod 640 key" "chmod 604 key" "truncate -s 15 key" "truncate -s 17 key" "rm key" \
    "rm key && ln -s '$work/good/key' key" "rm key && mkfifo key"; do
    rm -rf "$work/rekeyed"
    cp -rp "$work/good" "$work/rekeyed"
    (cd "$work/rekeyed" && eval "$bad")
    run GLINT_CACHE="$work/rekeyed"
    [ "$(stat -c '%a %s %F' "$work/rekeyed/key")" = "600 16 regular file" ] || fail "after $bad the key stays"
    ! cmp -s "$work/rekeyed/key" "$work/good/key" || fail "after $bad the key is used"
    for entry in "$work/good"/????*; do
        ! cmp -s "$entry" "$work/rekeyed/${entry##*/}" || fail "after $bad an entry is used"
    done
done

# A folder that others may write is neither read nor written; neither is a link to a folder.
for mode in 770 707 1777; do
    mkdir "$work/open"
    chmod "$mode" "$work/open"
    run GLINT_CACHE="$work/open"
    [ "$(entries "$work/open")" = 0 ] || fail "a folder of mode $mode is written"
    cp -p "$work/good"/* "$work/open"
    touch -d 2001-01-01 "$work/open"/*
    run GLINT_CACHE="$work/open"
    [ "$(find "$work/open" -type f -newermt 2002-01-01 | wc -l)" = 0 ] || fail "a folder of mode $mode is used"
    rm -r "$work/open"
done
ln -s "$work/good" "$work/link"
run GLINT_CACHE="$work/link"
touch -d 2001-01-01 "$work/good"/*
run GLINT_CACHE="$work/link"
[ "$(find "$work/good" -type f -newermt 2002-01-01 | wc -l)" = 0 ] || fail "a link to a folder is used"

rm "$cache"/????* "$work/first" # under the names of others; the key stays
run GLINT_CACHE="$cache" GLINT_PROBES=3
for other in "$cache"/????*; do
    [ ! -e "$work/good/${other##*/}" ] || fail "what is asked for is no part of the key"
    for entry in "$work/good"/????*; do
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
mkdir -m 700 "$cache"
cp -p "$work/good/key" "$cache"
for i in 1 2 3 4; do
    env GLINT_CACHE="$cache" "$programs/inject_watch" "$work/records.$i" "$GLINT_BUILD_DIR/lib/glint/libglint.so" \
        "$program" samples >"$work/out.$i" 2>&1 &
done
wait
for i in 1 2 3 4; do
    cmp "$work/plain" "$work/out.$i"
done
diff -r "$work/good" "$cache" || fail "several at once leave $(find "$cache" -type f)"
rm -rf "$cache" # also without a key
for i in 1 2 3 4; do
    env GLINT_CACHE="$cache" "$programs/inject_watch" "$work/records.$i" "$GLINT_BUILD_DIR/lib/glint/libglint.so" \
        "$program" samples >"$work/out.$i" 2>&1 &
done
wait
[ "$(entries "$cache")" = 2 ] || fail "several at once without a key leave $(find "$cache" -type f)"

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
mkdir -m 700 "$cache"
cp -p "$work/good/key" "$cache"
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
for entry in "$work/good"/????*; do
    cmp "$entry" "$cache/${entry##*/}"
done
