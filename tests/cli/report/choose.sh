# Findings are chosen by pattern, object and kernel, and limited to the requested number.
. ./sample
"$GLINT" report --limit 1 flags.glint | sed -n '/^What to/,/^What was/p'
"$GLINT" report --verbose --limit 1 flags.glint | sed -n '/^Findings/,/^Objects/p'
"$GLINT" report --verbose --limit 2 flags.glint | sed -n '/^Findings/,/^What was/p'
"$GLINT" report --pattern non-uniform-access,dead-write sample.glint | sed -n '3,/^What was/p'
"$GLINT" report --verbose --pattern non-uniform-access sample.glint | sed -n '/^Findings/,/^What was/p'
"$GLINT" report --pattern dead-write sample.glint | sed -n '4,/^What was/p'
"$GLINT" report --verbose --object A_g --kernel add sample.glint | sed -n '4,/^What was/p'
"$GLINT" report --object B_g sample.glint | sed -n '4,/^What was/p'
"$GLINT" report --kernel scale sample.glint | sed -n '4,/^What was/p'
"$tests/report/write_waste" waste.glint
"$GLINT" report --limit 1 waste.glint | sed -n '/^What to/,/^What was/p'
"$GLINT" report --object waste.cu:60 waste.glint | sed -n '/^What to/,/^What was/p'
for wrong in "--limit 0" "--limit x" "--limit 3x" "--pattern" "--pattern early" "--pattern dead-write,"; do
    "$GLINT" report $wrong sample.glint 2>&1
    echo "status $?"
done
