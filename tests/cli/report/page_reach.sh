# The page shows all objects that a copy or set reaches, also behind the one in which it begins, and no others.
. ./sample
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
"$tests/report/write_reach" reach.glint || exit
"$GLINT" report --format html reach.glint >page.html 2>message || {
    grep -q "built without the page" message && { echo "SKIP: $(cat message)"; exit 77; }
    cat message
}
sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html >data
# Each touch is the distance to the one before in calls, times 8, plus 1 for a read, 2 for a write, 4 for an argument.
jq -r '.objects.number as $numbers | .touches | to_entries[] | .key as $i |
    [foreach .value[] as $step ({call: 0}; {call: (.call + ($step / 8 | floor)), how: ($step % 8)};
        "call \(.call) \(["-", "reads", "writes", "reads and writes"][.how])")] |
    "object \($numbers[$i]): \(join(", "))"' data
jq -r '.objects | [.number, .first, .last] | transpose[] | "object \(.[0]): first used by call \(.[1]), last by call \(.[2])"' data
