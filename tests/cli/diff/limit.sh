. ./sample
"$GLINT" diff -n 1 old.glint new.glint | sed -n '/^New/,/^Gone/p'
"$GLINT" diff --limit 0 old.glint new.glint | grep -c more || true
