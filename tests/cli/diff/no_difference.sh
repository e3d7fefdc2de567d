# A profile does not differ from itself, nor from another run of the same program whose times differ a little.
. ./sample
"$GLINT" diff old.glint old.glint
"$GLINT" diff old.glint noisy.glint
"$GLINT" diff --format json old.glint noisy.glint | sed 's/"glint":"[^"]*"/"glint":"VERSION"/'
"$GLINT" diff --tolerance 1 old.glint noisy.glint
