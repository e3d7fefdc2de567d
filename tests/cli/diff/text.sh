# Lines of the source have shifted, and addresses are others: what is the same is not told.
. ./sample
"$GLINT" diff old.glint new.glint
