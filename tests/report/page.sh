#!/bin/sh
# page.sh WRITE_PAGE WRITE_SAMPLE: tests the page in a real browser. Records an example on the simulated GPU,
# makes its page and its JSON, and lets page.mjs and page_look.mjs drive Chromium over both, and
# over a large profile with malicious names. Exit status: 0 success, 1 failure, 77 it cannot run here; the last line says
# why.
set -eu
write_page=$1
root=$GLINT_SOURCE_DIR
folder=$GLINT_BUILD_DIR/web-test
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for tool in node npm; do
    command -v $tool >/dev/null || { echo "SKIP: no $tool (make deps)"; exit 77; }
done
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "SKIP: no chromium (make deps)"; exit 77; }

# Includes the packages that only tests need.
mkdir -p "$folder"
if ! cmp -s "$root/web/package-lock.json" "$folder/installed-lock.json"; then
    cp "$root/web/package.json" "$root/web/package-lock.json" "$folder"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 \
        --fetch-timeout=30000 >npm.log 2>&1) || { echo "SKIP: npm could not fetch packages (offline?)"; exit 77; }
    cp "$root/web/package-lock.json" "$folder/installed-lock.json"
fi
rm -rf "$folder/src"
cp -R "$root/web/src" "$root/web/tsconfig.json" "$root"/tests/report/page*.mjs "$folder"
(cd "$folder" && node node_modules/typescript/bin/tsc --noEmit) || { echo "the page's types are wrong"; exit 1; }

# 2mm if there is a CUDA compiler; else the example that needs none.
example=$GLINT_BUILD_DIR/examples/driver_api
if nvcc=$("$root/scripts/have" nvcc 2>/dev/null); then
    example=$scratch/2mm
    NVCC=$nvcc "$root/tests/compile" "$example" "$root/examples/2mm/2mm.cu" -O2 -g -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75
fi
(cd "$root" && "$GLINT" record -q -o "$scratch/small.glint" --analyses elements,counts,requests --maps --device sim -- "$example" >/dev/null)
(cd "$root" && "$GLINT" record -q -o "$scratch/passed.glint" --no-probes . --device sim -- "$example" >/dev/null)
"$GLINT" report --format json -o "$scratch/passed.json" "$scratch/passed.glint"
"$GLINT" report --format json -o "$scratch/small.json" "$scratch/small.glint"
"$GLINT" report --format html -o "$scratch/small.html" "$scratch/small.glint" 2>"$scratch/message" || {
    grep -q "built without the page" "$scratch/message" && { echo "SKIP: $(cat "$scratch/message")"; exit 77; }
    cat "$scratch/message"
    exit 1
}
"$GLINT" report --format html -o "$scratch/passed.html" "$scratch/passed.glint"
"$write_page" "$scratch/large.glint" 100000 5000
"$GLINT" report --format html -o "$scratch/large.html" "$scratch/large.glint"
mkdir "$scratch/edges"
"${write_page%/*}/write_samples" "$scratch/edges"
"${write_page%/*}/write_flow" "$scratch/edges/flow.glint"
"${write_page%/*}/write_caches" "$scratch/edges/caches.glint"
"$2" "$scratch/edges/sample.glint"
for sample in bare huge kinds odd values flow caches sample; do
    "$GLINT" report --format html -o "$scratch/edges/$sample.html" "$scratch/edges/$sample.glint"
done
"$GLINT" report --format json -o "$scratch/values.json" "$scratch/edges/values.glint"
"$GLINT" report --format json -o "$scratch/sample.json" "$scratch/edges/sample.glint"
"$GLINT" report --format json -o "$scratch/caches.json" "$scratch/edges/caches.glint"
cd "$folder"
node page.mjs "$browser" "$scratch" "$root"
node page_look.mjs "$browser" "$scratch" "$root"
