# With itself; and with another run of the same program, of which times differ by a little.
. ./sample
"$GLINT" diff old.glint old.glint
"$GLINT" diff old.glint noisy.glint
"$GLINT" diff --format json old.glint noisy.glint | sed 's/"glint":"[^"]*"/"glint":"VERSION"/'
"$GLINT" diff --tolerance 1 old.glint noisy.glint
