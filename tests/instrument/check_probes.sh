#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_probes.sh TEST_PROBES: ptxas accepts every probe template, filled with every combination of
# sample values.
set -u
command -v ptxas >/dev/null || {
    echo "SKIP: no ptxas"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder" || exit 1
checked=0 failed=0
for file in "$folder"/*.ptx; do
    checked=$((checked + 1))
    arch=$(sed -n 's/^\.target //p' "$file")
    ptxas -c -arch="$arch" -o "$folder/a" "$file" >"$folder/log" 2>&1 || {
        failed=$((failed + 1))
        echo "${file##*/}: $(head -n 1 "$folder/log")"
    }
done
echo "$checked checked, $failed failed"
[ "$failed" = 0 ] && [ "$checked" -gt 0 ]
