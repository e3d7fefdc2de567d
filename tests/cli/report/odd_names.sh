# Neither what a terminal obeys nor what is not UTF-8 comes out as it is.
. ./sample
"$GLINT" report --verbose odd.glint
"$GLINT" report --format json odd.glint >out && sed 's/"glint":"[^"]*"/"glint":"VERSION"/g' out
