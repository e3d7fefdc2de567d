# At 80 columns, the first screen has at most 24 lines, of at most 80 columns, and at most four for each finding: what is
# wrong, where, what to do, and what that gains. Only a last line that holds a long command may be longer.
. ./sample
for kind in waste waits caches flow; do
    "$tests/report/write_$kind" $kind.glint >/dev/null 2>&1 || rm -f $kind.glint
done
count=0
for profile in *.glint; do
    "$GLINT" report "$profile" >screen 2>/dev/null || continue
    count=$((count + 1))
    [ "$(wc -l <screen)" -le 24 ] || { echo "$profile: $(wc -l <screen) lines"; cat screen; }
    grep -v '^Next: ' screen | LC_ALL=C.UTF-8 awk -v name="$profile" 'length > 80 { print name ": " length " columns: " $0 }'
    awk -v name="$profile" '/^  [^ ]/ || /^$/ { inside = 0 } /^  [0-9]+\. / { lines = 0; inside = 1 }
        inside && ++lines > 4 { print name ": a finding has more than four lines"; exit }' screen
done
[ "$count" -gt 5 ] && echo "all screens fit"
