# A mistyped word is answered with the word that was probably meant, and a word that resembles none is not.
. ./sample
for line in "reprot x" "help recrd" "xyzzy" "report --formt json x" "report --le x" "report --xyzzy" "report --format jsn x" \
    "report --pattern unused-alocation x" "explain unused-alloc" "explain leak" "explain earlyalloc" "explain xyzzy" "record -a objcts -- true" \
    "record --device sim:h20 -- true" "report -t early-api=1 x" "check --fail-on unused-alocation sample.glint" \
    "report --kernel scal sample.glint" "report --kernel scaale sample.glint" "report --object xyzzy sample.glint"; do
    "$GLINT" $line 2>&1 >out | head -n 1
done
