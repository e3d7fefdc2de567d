# A line an item; without the version, which is not the test's affair.
. ./sample
"$GLINT" report --format json sample.glint >out
sed -e 's/"glint":"[^"]*"/"glint":"VERSION"/g' -e 's/},{"/},\n{"/g' -e 's/,"\([a-z]*\)":\[{/,\n"\1":[\n{/g' out
