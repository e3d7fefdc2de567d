# Every pattern of values, in words and as evidence.
. ./sample
"$GLINT" report --verbose values.glint | sed -n '/^Findings/,/^Kernels/p'
"$GLINT" report --format json values.glint | tr '\n' ' ' |
    sed -e 's/{"pattern"/\n&/g' | sed -n 's/^{"pattern":"\([a-z-]*-value[s]*\|single-zero\|heavy-type\)",.*"evidence":\({.*}\),"count".*/\1 \2/p'
