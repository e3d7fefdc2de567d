# Findings of a pattern break its rule, and findings of other patterns do not.
. ./sample
"$GLINT" check --fail-on memory-leak new.glint
echo "status $?"
"$GLINT" check --fail-on memory-leak old.glint
echo "status $?"
"$GLINT" check --fail-on unused-allocation,dead-write --fail-on memory-leak new.glint
echo "status $?"
