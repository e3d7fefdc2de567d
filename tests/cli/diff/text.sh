# Source lines have shifted and addresses differ: what is the same is not listed.
. ./sample
"$GLINT" diff old.glint new.glint
