#!/bin/sh
# test_room.sh PROGRAM: launches whose clones may have spare shared memory for counters and tags of words. They have it
# unless blocks may wait for each other and fewer fit on the GPU than without. Counts are the same in any case, and so
# is what the program finds.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
is() { # WHAT FOUND EXPECTED
    [ "$2" = "$3" ] || {
        printf '%s: %s\nexpected: %s\n' "$1" "$2" "$3"
        exit 1
    }
}

# record WAYS: counts in these ways, and lists the dynamic shared memory of clones in $work/sizes, by launch.
record() {
    GLINT_SHARED_COUNTING=$1 "$GLINT" record --device sim -q -f -o "$work/profile" -a shared --no-cache \
        --sim-log "$work/log" -- "$program" >"$work/out"
    cmp "$work/plain" "$work/out"
    "$GLINT" sim-log --launches "$work/log" |
        sed -n 's/.*$glint[$a-z]* .* dynamic_shared=\([0-9]*\) .*/\1/p' | tr '\n' ' ' >"$work/sizes"
    "$GLINT" query "$work/profile" "select call, node, bytes, loads, stores, complete from v_shared_arrays order by 1" \
        >"$work/$1"
    is "$1: incomplete" "$("$GLINT" query "$work/profile" "select count(*) from v_shared_arrays where not complete or
        missed" | tail -n 1)" 0
}

"$GLINT" run --device sim -- "$program" >"$work/plain"
grep -q '^too large: 1$' "$work/plain" || { echo "the driver launches what is too large"; exit 1; }
# In this order: little memory, twice; many blocks; a kernel that reads the size; three other ways to launch, of which
# graphs have none; one block of 40 KiB, many, many that may wait for each other, a cooperative launch of one; 70, 100
# and 227 KiB; 4 KiB again.
record basic
is "without spare memory" "$(cat "$work/sizes")" \
    "1024 1025 4096 1024 1024 1024 1024 40960 40960 40960 40960 71680 102400 232448 4096 "
record sm
is "with spare memory" "$(cat "$work/sizes")" \
    "3120 3152 12336 1024 3120 3120 1024 122928 122928 40960 40960 215088 102400 232448 12336 "
record sm,th
is "with small counters" "$(cat "$work/sizes")" \
    "3120 3152 12336 1024 3120 3120 1024 122928 122928 40960 40960 215088 204832 232448 12336 "
# Tags of words come first. Where there is no room for counters, too, words are counted in device memory.
record ranges
is "with tags" "$(cat "$work/sizes")" \
    "2064 2096 8208 1024 2064 1024 1024 81936 81936 40960 40960 143376 204816 232448 8208 "
traced=$("$GLINT" query "$work/profile" "select group_concat(ranges is not null, '') from
    (select ranges from v_shared_arrays order by call)" | tail -n 1)
is "known live ranges" "$traced" 111010011001101
record sm,ranges
is "with tags and counters" "$(cat "$work/sizes")" \
    "4160 4208 16448 1024 4160 3120 1024 163904 163904 40960 40960 143376 204816 232448 16448 "
cmp "$work/basic" "$work/ranges"
cmp "$work/basic" "$work/sm,ranges"
cmp "$work/basic" "$work/sm"
cmp "$work/basic" "$work/sm,th"
is "launches" "$(wc -l <"$work/basic")" 16
echo "clones have spare shared memory where no block waits for another"
