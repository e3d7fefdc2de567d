# Control characters and invalid UTF-8 are never written unchanged.
. ./sample
"$GLINT" report --verbose odd.glint
"$GLINT" report --format json odd.glint >out && sed 's/"glint":"[^"]*"/"glint":"VERSION"/g' out
