# By default the report is one screen: what there is to gain, what to fix first, which patterns were
# checked, what to type next.
. ./sample
"$GLINT" report sample.glint
"$GLINT" report flags.glint
"$GLINT" report loop.glint
"$GLINT" report empty.glint
COLUMNS=50 "$GLINT" report flags.glint | sed -n '/^What to/,/^What was/p'
unset COLUMNS
"$GLINT" report flags.glint | sed -n '/^What to/,/^What was/p'
