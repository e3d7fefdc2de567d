# What the model of the caches found: as findings, as tables of kernels that are worth reading, and as JSON.
../../../scripts/have jq >/dev/null || exit 77
. ./sample
"$tests/report/write_caches" caches.glint || exit 1
"$GLINT" report --pattern low-hit-rate caches.glint | sed -n '/^What to fix/,/^$/p'
"$GLINT" report --verbose caches.glint | sed -n '/^Hits in caches/,/^Objects/p'
echo "== one kernel, and few objects"
"$GLINT" report --verbose --kernel tiny caches.glint | sed -n '/^Hits in caches/,/^Objects/p'
"$GLINT" report --verbose --limit 1 caches.glint | sed -n '/^Hits in caches/,/^Objects/p'
echo "== asked for, but without rows"
"$tests/report/write_caches" nothing.glint nothing || exit 1
"$GLINT" report nothing.glint | grep '^  cache'
"$GLINT" report caches.glint | grep '^  cache'
echo "== JSON"
"$GLINT" report --format json caches.glint >caches.json || exit 1
jq -c '.kernels[] | [.short, .caches.launches, .caches.lost, .caches.dram_read_sectors, (.caches.objects | length)]' caches.json
jq -c '.kernels[0].caches.objects[0]' caches.json
