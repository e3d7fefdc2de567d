#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_names.sh REWRITE FILE...: labels that probes add begin with "$", so none is the name of a program's function or
# variable. ptxas refuses a branch to such a label, and then no kernel of the module would have probes.
set -eu
rewrite=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
labels() { sed -n 's/^[[:space:]]*\([[:alpha:]_$][[:alnum:]_$]*\):.*/\1/p' "$1" | sort -u; }
words() { grep -oE '[[:alpha:]_$][[:alnum:]_$]*' "$1" | sort -u; }
checked=0 bad=0
for file in "$@"; do
    for level in objects elements counts objects+values elements+values counts+values; do
        "$rewrite" "$level" "$file" >"$work/rewritten" 2>/dev/null || continue
        words "$file" >"$work/before"
        labels "$work/rewritten" | comm -13 "$work/before" - >"$work/added"
        checked=$((checked + $(wc -l <"$work/added")))
        if grep -v '^\$' "$work/added" >"$work/plain"; then
            echo "$file, $level: $(tr '\n' ' ' <"$work/plain")"
            bad=1
        fi
    done
done
echo "$checked labels"
[ "$bad" = 0 ] && [ "$checked" -gt 1000 ]
