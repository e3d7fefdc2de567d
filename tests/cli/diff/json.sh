# One item per line, without the version, which this test does not check.
. ./sample
"$GLINT" diff --format json old.glint new.glint -o out || exit
sed -e 's/"glint":"[^"]*"/"glint":"VERSION"/' -e 's/},{"/},\n{"/g' out
