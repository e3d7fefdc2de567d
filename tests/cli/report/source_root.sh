# Files under the root are relative to it, however it is written; others are absolute.
../../../scripts/have jq >/dev/null || exit 77
. ./waste
places() { jq -r '.runs[0] | .originalUriBaseIds[].uri, ([.results[].locations[].physicalLocation.artifactLocation | "\(.uri) \(.uriBaseId)"] | unique[])'; }
for root in /home/me/project /home/me/./project/src/.. /home/me/project/src/ /home/me/pro /; do
    echo "== $root"
    "$GLINT" report --format sarif --source-root "$root" waste.glint | places
done
echo "== where we are"
mkdir -p here/sub && cd here || exit 1
"$GLINT" report --format sarif --source-root sub ../waste.glint | places | sed -n "1s|$SCRATCH|SCRATCH|p"
"$GLINT" report --format sarif ../waste.glint | places | sed -n "1s|$SCRATCH|SCRATCH|p"
