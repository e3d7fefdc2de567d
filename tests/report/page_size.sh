#!/bin/sh
# page_size.sh WRITE_PAGE: however large a profile is, the page stays below 8,000,000 bytes, says
# what it leaves out, and shows correct data.
set -eu
write_page=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jq=$("$GLINT_SOURCE_DIR/scripts/have" jq) || exit 77

fail() {
    echo "$*"
    exit 1
}

# page CALLS OBJECTS: makes page.html, and data.json with the page's data.
page() {
    "$write_page" "$scratch/p.glint" "$1" "$2"
    "$GLINT" report -f --format html -o "$scratch/page.html" "$scratch/p.glint" 2>"$scratch/message" || {
        grep -q "built without the page" "$scratch/message" && { echo "SKIP: $(cat "$scratch/message")"; exit 77; }
        fail "$(cat "$scratch/message")"
    }
    sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$scratch/page.html" >"$scratch/data.json"
    bytes=$(wc -c <"$scratch/page.html")
    [ "$bytes" -lt 8000000 ] || fail "the page of $1 calls has $bytes bytes"
    [ "$(grep -o '<script' "$scratch/page.html" | wc -l)" = 2 ] || fail "a name became a part of the page"
}

# The filter applied to the data must give "true".
holds() {
    [ "$("$jq" "$1" "$scratch/data.json")" = true ] || fail "does not hold for $calls calls: $1"
}

calls=1000
page 1000 100
holds '.omitted == []'
holds '(.calls.number | length) == 1000 and (.objects.number | length) == 100'
holds '.texts | any(. != null and startswith("</script><img"))'

calls=1000000
page 1000000 20000
holds '.head.summary.calls == 1000000 and .head.summary.objects == 20000'
holds '.calls.number | length | . > 50000 and . < 300000'
holds '.omitted | any(.what == "calls" and .of == 1000000)'
holds '(.omitted[] | select(.what == "calls").shown) == (.calls.number | length)'
holds '(.omitted[] | select(.what == "calls") | .of - .shown) == .calls.rest.calls'
holds '.calls.rest.calls == ([.calls.rest.lanes[].count | add] | add)'
# The curve contains every peak, and the calls of all findings are in the page.
holds '(.usage.kinds.device | max) == .head.summary.peak_bytes'
# shellcheck disable=SC2016 # jq's own names
holds '([foreach .calls.number[] as $step (0; . + $step)] | map({key: tostring, value: 1}) | from_entries) as $there
    | .findings | all(.call == 0 or $there[.call | tostring] == 1)'
echo "1,000,000 calls: $bytes bytes"
