# Findings on requests of warps are at a line of the kernel, also for code hosts.
../../../scripts/have jq >/dev/null || exit 77
. ./sample
"$GLINT" report --format sarif --source-root /home/me sample.glint >sample.sarif || exit 1
jq -c '.runs[0].results[] | [.ruleId, .locations[0].physicalLocation.region.startLine, .locations[0].logicalLocations[0].fullyQualifiedName,
    (.relatedLocations[] | [.message.text, .physicalLocation.region.startLine])]' sample.sarif
"$GLINT" report --format github --source-root /home/me sample.glint 2>/dev/null
"$GLINT" report --format json sample.glint | jq -c '.kernels[].sites[].requests'
