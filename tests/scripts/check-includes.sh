#!/bin/sh
# Tests scripts/check-includes on small trees: one that follows the law, and each way to break it.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# Writes a tree that follows the law.
good_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/low" "$tree/src/mid" "$tree/src/top" "$tree/tests/mid" "$tree/tests/fuzz" "$tree/bench"
    mkdir -p "$tree/src/big/cellar" "$tree/src/big/hall/deep" "$tree/src/big/roof" "$tree/src/big/sky" \
        "$tree/tests/big"
    law low: 'mid: low' 'top: mid' 'big: low mid' \
        'big/cellar: low' 'big/hall: big big/cellar mid' 'big/roof: big/hall' 'big/sky: big/hall/deep/deep.h'
    include src/low/low.h '<stdio.h>'
    include src/low/inner.h '"low/low.h"'
    include src/low/low.c '"inner.h"' '"low/inner.h"'
    include src/mid/mid.c '"low/low.h"'
    include src/top/top.c '"mid/mid.h"'
    include tests/mid/test_mid.c '"mid/inner.h"' '"top/top.h"' '"../support.h"' '"helper.h"'
    include tests/fuzz/fuzz_low.c '"low/low.h"' '"fuzz.h"'
    include bench/bench_mid.c '"mid/mid.h"' '"mid/inner.h"'
    include src/big/big.h '"low/low.h"'
    include src/big/beside.h '"big/big.h"' '"low/low.h"'
    include src/big/cellar/cellar.c '"low/low.h"' '"wine.h"' '"big/cellar/wine.h"' '"big/big.h"'
    include src/big/hall/hall.c '"big/cellar/wine.h"' '"big/beside.h"' '"mid/mid.h"'
    include src/big/hall/deep/deep.c '"big/cellar/wine.h"' '"big/hall/hall.h"' '"mid/mid.h"'
    include src/big/roof/roof.c '"big/hall/hall.h"' '"big/hall/deep/deep.h"' '"big/big.h"'
    include src/big/sky/sky.c '"big/hall/deep/deep.h"'
    include tests/big/test_big.c '"big/hall/hall.h"' '"big/cellar/wine.h"' '"low/low.h"'
}

# law LINE... writes the tree's src/parts.txt.
law() {
    { printf '# a comment\n\n'; printf '%s\n' "$@"; } >"$tree/src/parts.txt"
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

# refused EXPECTED FILE HEADER: the check must fail, and the message must name the reason.
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

# Includes between rooms.
refused 'big/cellar may not use big/hall' src/big/cellar/cellar.c '"big/hall/hall.h"'
refused 'big/cellar may not use big/hall' src/big/cellar/cellar.c '"big/hall/deep/deep.h"'
refused 'big/roof may not use big/cellar' src/big/roof/roof.c '"big/cellar/wine.h"'
refused 'big/hall may not use big/roof' src/big/hall/deep/deep.c '"big/roof/roof.h"'
refused 'big/cellar may not use big (' src/big/cellar/cellar.c '"big/beside.h"'
refused 'big/cellar may not use mid' src/big/cellar/cellar.c '"mid/mid.h"'
refused 'big/hall may not use low' src/big/hall/deep/deep.c '"low/low.h"'
refused 'big/sky may not use big/hall' src/big/sky/sky.c '"big/hall/hall.h"'
refused 'big may not use big/hall' src/big/beside.h '"big/hall/hall.h"'
refused 'of a room, which the public header of big may not use' src/big/big.h '"big/hall/hall.h"'
refused 'an inner header of low' src/big/hall/hall.c '"low/inner.h"'
refused 'an inner header of big' src/top/top.c '"big/hall/hall.h"'
refused 'an inner header of big' tests/mid/test_mid.c '"big/hall/hall.h"'
refused 'without ..' src/big/hall/hall.c '"../cellar/wine.h"'
refused 'of no part' src/big/hall/hall.c '"cellar/wine.h"'

good_tree
mkdir "$tree/src/stray"
include src/stray/stray.c '<stdio.h>'
! "$check" "$tree" >/dev/null || { echo "accepted: a folder of src that is no part"; exit 1; }

# refused_law EXPECTED LINE...: src/parts.txt itself breaks the rules, and the message names the reason.
refused_law() {
    expected=$1
    shift
    good_tree
    law "$@"
    if message=$("$check" "$tree"); then
        echo "accepted: the law '$*'"
        exit 1
    fi
    case $message in
    *"$expected"*) ;;
    *) echo "law '$*': expected '$expected', got '$message'"; exit 1 ;;
    esac
}

refused_law 'low may use top, which does not come before it' 'low: top' top:
refused_law 'low has a line already' low: low: 'mid: low'
refused_law 'expected "part: parts it may use"' 'low mid'
refused_law 'big/cellar may use big/hall, which does not come before it' big: 'big/cellar: big/hall' big/hall:
refused_law 'big/cellar may use big/hall/hall.h, which does not come' big: 'big/cellar: big/hall/hall.h' big/hall:
refused_law 'top may use big/hall, which is a room of another part' big: big/hall: 'top: big/hall'
refused_law 'parts.txt:7: big/cellar may use low, but big may not' low: mid: 'big: mid' big/hall: 'big/cellar: low'
refused_law 'big has rooms, but no line' low: big/cellar:
refused_law 'src/big/roof is not a room' low: 'mid: low' 'top: mid' 'big: low mid' 'big/cellar: low' \
    'big/hall: big big/cellar mid'

# A part's line may follow its rooms: then its files outside of them may include the rooms.
good_tree
law low: 'mid: low' 'top: mid' 'big/cellar: low' 'big: low mid big/cellar' 'big/hall: big big/cellar mid' \
    'big/roof: big/hall' 'big/sky: big/hall'
include src/big/beside.h '"big/cellar/wine.h"'
"$check" "$tree" || { echo "refused: a part above its rooms"; exit 1; }
