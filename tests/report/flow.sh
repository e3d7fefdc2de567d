#!/bin/sh
# flow.sh: tests the parts of the page's value flow graph that need no browser. The build has fetched esbuild for the
# page. Exit status: 0 success, 1 failure, 77 it cannot run here; the last line says why.
set -eu
esbuild=$GLINT_BUILD_DIR/web/node_modules/.bin/esbuild
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
command -v node >/dev/null || { echo "SKIP: no node (make deps)"; exit 77; }
[ -x "$esbuild" ] || { echo "SKIP: glint was built without the page"; exit 77; }

for file in flow_graph flow_layout flow_scene; do
    echo "export * from \"./$file\";"
done >"$scratch/all.ts"
cp "$GLINT_SOURCE_DIR"/web/src/flow_*.ts "$scratch"
"$esbuild" "$scratch/all.ts" --bundle --format=esm --log-level=error --outfile="$scratch/all.mjs"
node "$GLINT_SOURCE_DIR/tests/report/flow.mjs" "$scratch/all.mjs"
