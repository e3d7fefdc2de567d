#!/bin/sh
# Compares the stand-ins in folder $1 with the toolkit's libraries: a stand-in exports every function of the library, with
# the same version, so that the loader accepts every program. The lists in `left_out` are regular expressions of names
# that only NVIDIA's own libraries call.
set -eu
sim=$1
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
toolkit=$(dirname "$(readlink -f "$nvcc")")/../lib64
left_out='^cublasLt(_for_cublas_|LegacyGemm|[A-Z]{3}Matmul|EmulationDescInit_internal|Ctx|ShutdownCtx|ClearNvjetCache)'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

exports() {
    nm --dynamic --defined-only "$1" | awk '$2 ~ /[TW]/ { print $3 }' | LC_ALL=C sort
}

checked=0
for ours in "$sim"/libcu[bfrs]*.so.*; do
    name=${ours##*/}
    exports "$ours" >"$work/ours"
    grep -v "@@$name\$" "$work/ours" && { echo "$name: wrong version"; exit 1; }
    [ -f "$toolkit/$name" ] || continue
    exports "$toolkit/$name" | grep -vE "$left_out" >"$work/theirs"
    if LC_ALL=C comm -13 "$work/ours" "$work/theirs" | grep .; then
        echo "$name: lacks the functions above"
        exit 1
    fi
    checked=$((checked + 1))
done
[ $checked -gt 0 ] || { echo "SKIP: none of the libraries beside $nvcc"; exit 77; }
