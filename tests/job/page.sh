#!/bin/sh
# page.sh WRITE_RANKS: tests the page of a job in a real browser. Exit status 77: it cannot run here; the last line says
# why.
set -eu
root=$GLINT_SOURCE_DIR
folder=$GLINT_BUILD_DIR/job-web-test
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for tool in node npm; do
    command -v $tool >/dev/null || { echo "SKIP: no $tool (make deps)"; exit 77; }
done
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "SKIP: no chromium (make deps)"; exit 77; }

mkdir -p "$folder"
if ! cmp -s "$root/web/package-lock.json" "$folder/installed-lock.json"; then
    cp "$root/web/package.json" "$root/web/package-lock.json" "$folder"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 \
        --fetch-timeout=30000 >npm.log 2>&1) || { echo "SKIP: npm could not fetch packages (offline?)"; exit 77; }
    cp "$root/web/package-lock.json" "$folder/installed-lock.json"
fi
cp "$root/tests/job/page.mjs" "$folder"

cd "$scratch"
"$1" . 200 100 double=150 slow=2 communicating=1
"$GLINT" merge -o job.glint rank-*.glint
echo own >rank-00150.html
"$GLINT" report -o job.html job.glint 2>message || {
    grep -q "built without the page" message && { echo "SKIP: $(cat message)"; exit 77; }
    cat message
    exit 1
}
"$GLINT" report -o job.json job.glint
mkdir simulated
"$1" simulated 3 100 simulated=1
rm simulated/rank-00001.glint
"$GLINT" merge -o simulated.glint simulated/*.glint
"$GLINT" report -o simulated.html simulated.glint
[ "$(wc -c <job.html)" -le 8000000 ] || { echo "job.html is too large"; exit 1; }
cd "$folder"
node page.mjs "$browser" "$scratch"
