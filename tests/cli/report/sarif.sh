# One result for each worthwhile finding, with its location, call path and fingerprint. tests/report validates all of
# it against schemas.
../../../scripts/have jq >/dev/null || exit 77
. ./waste
"$GLINT" report --format sarif --source-root /home/me/project waste.glint >waste.sarif || exit 1
jq -r '.runs[0].tool.driver.rules[] | "\(.id): \(.shortDescription.text)\n  \(.help.text)"' waste.sarif
jq 'del(.runs[0] | .results, .tool.driver.rules, .tool.driver.version)' waste.sarif
jq '.runs[0].results[] | select(.ruleId == "dead-write" or (.ruleId == "memory-leak" and (.message.text | test("vector|alone"))))' waste.sarif
jq -r '.runs[0].results[] | "\(.level) \(.ruleId) \(.locations[0].physicalLocation | "\(.artifactLocation.uri):\(.region.startLine)") \(.locations[0].logicalLocations[0] | .fullyQualifiedName // .name) \(.partialFingerprints[])"' waste.sarif
