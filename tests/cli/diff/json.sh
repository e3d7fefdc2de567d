# A line an item; without the version, which is not the test's affair.
. ./sample
"$GLINT" diff --format json old.glint new.glint -o out || exit
sed -e 's/"glint":"[^"]*"/"glint":"VERSION"/' -e 's/},{"/},\n{"/g' out
