#!/bin/sh
# Tests scripts/check-includes on small trees: one that keeps the law, and each way to break it.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# Writes a tree that keeps the law.
good_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/low" "$tree/src/mid" "$tree/src/top" "$tree/tests/mid" "$tree/tests/fuzz" "$tree/bench"
    printf '# a comment\n\nlow:\nmid: low\ntop: mid\n' >"$tree/src/parts.txt"
    include src/low/low.h '<stdio.h>'
    include src/low/inner.h '"low/low.h"'
    include src/low/low.c '"inner.h"' '"low/inner.h"'
    include src/mid/mid.c '"low/low.h"'
    include src/top/top.c '"mid/mid.h"'
    include tests/mid/test_mid.c '"mid/inner.h"' '"top/top.h"' '"../support.h"' '"helper.h"'
    include tests/fuzz/fuzz_low.c '"low/low.h"' '"fuzz.h"'
    include bench/bench_mid.c '"mid/mid.h"' '"mid/inner.h"'
}

# include FILE HEADER... adds lines to FILE.
include() {
    file=$tree/$1
    shift
    for header; do
        echo "#include $header" >>"$file"
    done
}

good_tree
"$check" "$tree" || { echo "a tree that keeps the law was refused"; exit 1; }

# refused EXPECTED FILE HEADER: the law must not hold any more, and the message name the reason.
refused() {
    good_tree
    include "$2" "$3"
    if message=$("$check" "$tree"); then
        echo "accepted: $2 includes $3"
        exit 1
    fi
    case $message in
    "$2:"*"$1"*) ;;
    *) echo "$2 includes $3: expected '$1', got '$message'"; exit 1 ;;
    esac
}

refused 'low may not use mid' src/low/low.c '"mid/mid.h"'
refused 'top may not use low' src/top/top.c '"low/low.h"'
refused 'an inner header of low' src/mid/mid.c '"low/inner.h"'
refused 'of no part' src/mid/mid.c '"other/other.h"'
refused 'without ..' src/mid/mid.c '"../low/low.h"'
refused 'an inner header of low' tests/mid/test_mid.c '"low/inner.h"'
refused 'an inner header of low' tests/fuzz/fuzz_low.c '"low/inner.h"'
refused 'an inner header of mid' bench/bench_low.c '"mid/inner.h"'
refused 'without ..' tests/mid/test_mid.c '"../../src/low/low.h"'

good_tree
mkdir "$tree/src/stray"
include src/stray/stray.c '<stdio.h>'
! "$check" "$tree" >/dev/null || { echo "accepted: a folder of src that is no part"; exit 1; }

good_tree
printf 'low: top\ntop:\n' >"$tree/src/parts.txt"
! "$check" "$tree" >/dev/null || { echo "accepted: a part that comes before what it uses"; exit 1; }
