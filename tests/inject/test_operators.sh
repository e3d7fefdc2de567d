#!/bin/sh
# test_operators.sh PYTHON ALLOCATOR: ranges of NVTX that a Python program makes, as PyTorch does for operators, hold the
# calls that are made in them, and tensors are alive when the program says so. bench/torch/run asks the same question.
set -eu
python=$1 allocator=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NVTX_INJECTION64_PATH
program=$GLINT_SOURCE_DIR/tests/inject/operators.py

record() { # ARGUMENT...: says how many checkpoints there are, and at how many the tensors differ from what was said
    "$GLINT" run --device sim -- "$python" "$program" "$allocator" "$@" >"$work/plain"
    "$GLINT" record -q -f --device sim -o "$work/profile" --no-cache -- "$python" "$program" "$allocator" "$@" >"$work/out"
    cmp "$work/plain" "$work/out"
    # The question of bench/torch/run, as it is there.
    sed -n '/SELECT count/,/allocated %/p' "$GLINT_SOURCE_DIR/bench/torch/run" | sed 's/" | tail.*//' >"$work/question"
    grep -q tensor "$work/question"
    "$GLINT" query "$work/profile" "$(cat "$work/question")" | tail -n 1
}
record >"$work/got"
printf '20\t0\t0\n' | diff - "$work/got"
record 64 >"$work/got"
printf '20\t1\t64\n' | diff - "$work/got"

"$GLINT" query "$work/profile" "SELECT r.name, count(*), sum(c.kind = 'set') FROM v_nvtx_ranges r JOIN v_calls c
    ON c.thread = r.thread AND c.start_ns BETWEEN r.start_ns AND r.end_ns GROUP BY r.name ORDER BY 1" | tail -n +2 >"$work/calls"
# A block handed out, a set, and in every fourth step a block taken back.
printf 'operator 0\t16\t7\noperator 1\t16\t7\noperator 2\t13\t6\n' | diff - "$work/calls"
