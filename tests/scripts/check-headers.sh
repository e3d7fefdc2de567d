#!/bin/sh
# Tests scripts/check-headers: a file that opens correctly, and each kind of mistake.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-headers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/src"

printf '// SPDX-License-Identifier: Apache-2.0\n// What it is for.\nint x;\n' >"$tree/src/a.c"
"$check" "$tree" || { echo "a good file was refused"; exit 1; }

for bad in 'int x;\n' '// SPDX-License-Identifier: Apache-2.0\nint x;\n' \
    '// SPDX-License-Identifier: Apache-2.0\n' '// What it is for.\n// SPDX-License-Identifier: Apache-2.0\n'; do
    # shellcheck disable=SC2059
    printf "$bad" >"$tree/src/a.c"
    ! "$check" "$tree" >/dev/null || { echo "accepted: $bad"; exit 1; }
done
