# The section of a pattern as plain text, and that every pattern has one.
"$GLINT" explain dead-write
for pattern in $("$GLINT" explain | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    "$GLINT" explain "$pattern" >"$SCRATCH/text" || echo "$pattern: status $?"
    for word in "^$pattern$" "^Fix: " "^- Source: " "^- Needs: " "^    .*;"; do
        grep -q "$word" "$SCRATCH/text" || echo "$pattern: no line '$word'"
    done
done
