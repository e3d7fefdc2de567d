#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_ptxas.sh REWRITE FILE...: every file that ptxas accepts, it also accepts with probes, at
# every level. It does not optimise, which takes most of its time and refuses nothing more.
set -u
rewrite=$1
shift
command -v ptxas >/dev/null || {
    echo "SKIP: no ptxas"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
checked=0 failed=0
for file in "$@"; do
    arch=$(sed -n 's/^\.target *\([a-z0-9_]*\).*/\1/p' "$file" | head -n 1)
    case $arch in sm_[1-6]? | sm_70 | sm_72) arch=sm_75 ;; esac # the oldest that ptxas makes code for
    options=
    ptxas -O0 -arch="$arch" -o "$folder/a" "$file" >/dev/null 2>&1 || {
        options=-c
        ptxas -O0 $options -arch="$arch" -o "$folder/a" "$file" >/dev/null 2>&1 || continue
    }
    rm -f "$folder"/*.ptx
    for level in objects objects+requests objects+cache elements objects+values elements+values+shared \
        counts+values+requests+cache; do
        checked=$((checked + 1))
        text=$folder/$level.ptx
        "$rewrite" $level "$file" >"$text" || {
            failed=$((failed + 1))
            echo "$file, $level: no probes"
            continue
        }
        # Levels often have the same probes. ptxas needs to see a text once.
        for other in "$folder"/*.ptx; do
            [ "$other" = "$text" ] || ! cmp -s "$other" "$text" || continue 2
        done
        # Without optimisation ptxas 13.0 itself crashes with few of these texts.
        ptxas -O0 $options -arch="$arch" -o "$folder/b" "$text" >"$folder/log" 2>&1 || {
            [ $? -gt 128 ] && ptxas -O1 $options -arch="$arch" -o "$folder/b" "$text" >"$folder/log" 2>&1
        } || {
            failed=$((failed + 1))
            echo "$file, $level: $(head -n 1 "$folder/log")"
        }
    done
done
echo "$checked checked, $failed failed"
[ "$failed" = 0 ] && [ "$checked" -gt 0 ]
