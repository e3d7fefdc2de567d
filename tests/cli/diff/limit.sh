. ./sample
"$GLINT" diff -n 1 old.glint new.glint | sed -n '/^New/,/^Gone/p'
# All rows, and no line that says there are more.
"$GLINT" diff --limit 0 old.glint new.glint | sed -n '/^New/,/^$/s/^  \([a-z.][a-z.]*\) .*/\1/p'
