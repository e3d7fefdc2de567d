#!/bin/sh
# Runs program $1 with the path of the toolkit's library $2.
set -eu
nvcc=$("${GLINT_SOURCE_DIR:-.}/scripts/have" nvcc) || exit 77
library=$(dirname "$(readlink -f "$nvcc")")/../lib64/$2
[ -f "$library" ] || { echo "SKIP: no $2 beside $nvcc"; exit 77; }
exec "$1" "$library"
