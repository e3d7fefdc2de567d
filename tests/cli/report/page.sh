# The JSON in the page of this sample and of extreme profiles. Numbers are those of the JSON report; missing sources
# are not shown.
. ./sample
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
page() {
    "$GLINT" report --format html "$1" >page.html 2>message || {
        grep -q "built without the page" message && { echo "SKIP: $(cat message)"; exit 77; }
        cat message
    }
    sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' page.html
}
page sample.glint >data || exit
"$GLINT" report --format json sample.glint >report
jq -c '.head.summary | [.calls, .objects, .launches, .peak_bytes]' data
jq -c '.summary | [.calls, .objects, .launches, .peak_bytes]' report
jq -c '[(.calls.number | add), (.objects.number | length), .omitted]' data
jq -c '[(.findings[] | [.pattern, .object, .peak_bytes, .message])]' data
jq -c '[(.findings[] | [.pattern, .object, .worth.peak_bytes, .message])]' report
for sample in bare empty host huge kinds killed loop odd probes; do
    page $sample.glint | jq -c '[(.calls.number | length), (.objects.number | length), (.findings | length), .omitted]' | sed "s/^/$sample: /"
done
