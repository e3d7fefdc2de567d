#!/bin/sh
# gate_schema.sh WRITE_PAIRS WRITE_SAMPLES: validates the JSON of glint diff and glint check against
# their schemas, and compares diff.md and check.md in docs/reference with the schemas.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
docs=$GLINT_SOURCE_DIR/docs/reference
python=$("$GLINT_SOURCE_DIR/scripts/have" jsonschema) || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch"
"$2" "$scratch"
cd "$scratch"
bad=0

# held WORD FILE: prints the validation errors by WORD.schema.json.
held() { "$python" -W ignore "$GLINT_SOURCE_DIR/tests/report/validate.py" --closed "$docs/$1.schema.json" "$2"; }
holds() { held "$1" "$2" >wrong || { echo "$3:"; head -n 20 wrong; bad=1; }; }

printf '[[suppress]]\nobject = "grown"\nreason = "r"\n' >rules.toml
for profile in *.glint; do
    "$GLINT" diff -f --format json -o out old.glint "$profile" || { echo "no difference to $profile"; bad=1; }
    holds diff out "diff $profile"
    "$GLINT" check -f --format json -r rules.toml --fail-on any,growth,new -b old.glint -o out "$profile" 2>message && status=0 || status=$?
    case $status in
    [01]) holds check out "check $profile" ;;
    *) grep -qE 'calls or objects are missing|cannot be decided: .* was recorded without' message || { echo "check $profile: $(cat message)"; bad=1; } ;;
    esac
done

# No array of these outputs is empty, so that every part of the schemas was used.
"$GLINT" diff -f --format json -o diff.json old.glint new.glint
jq -e '[.items[].kind] | unique | length >= 4' diff.json >/dev/null || { echo "the difference lacks something"; bad=1; }
"$GLINT" check -f --format json -r rules.toml --fail-on any,growth -b old.glint -o check.json new.glint || [ $? = 1 ]
jq -e '[.rules, .rules[0].findings, .suppressions] | all(length > 0)' check.json >/dev/null || { echo "the check lacks something"; bad=1; }

# Changes of a valid output that the schema must reject, with words of the error.
while IFS='|' read -r word change words; do
    jq "$change" $word.json >changed.json
    held $word changed.json >wrong && { echo "not noticed: $change"; bad=1; }
    grep -qF -e "$words" wrong || { echo "noticed otherwise: $change: $(cat wrong)"; bad=1; }
done <<END
diff|del(.summary)|'summary' is a required property
diff|.items[0].kind = "tape"|'tape' is not one of
diff|.items[0].new.count = -1|-1 is less than the minimum
diff|del(.items[0].message)|'message' is a required property
diff|.more = 1|'more' was unexpected
diff|.items[0].change = "same"|'same' is not one of
check|.rules = []|rules: []
check|.holds = 1|1 is not of type 'boolean'
check|del(.rules[0].findings[0].worth.ms)|'ms' is a required property
check|.suppressions[0].reason = null|None is not of type 'string'
END

# The documents mention every member.
for word in diff check; do
    jq -r '.. | .properties? // empty | keys[]' "$docs/$word.schema.json" | sort -u >members
    [ "$(wc -l <members)" -ge 20 ] || { echo "too few members: the question is wrong"; bad=1; }
    while read -r member; do
        grep -q "\`$member\`" "$docs/$word.md" || { echo "$docs/$word.md does not tell of $member"; bad=1; }
    done <members
done
exit $bad
