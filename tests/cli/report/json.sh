# One item per line, without the version, which this test does not check.
. ./sample
"$GLINT" report --format json sample.glint >out
sed -e 's/"glint":"[^"]*"/"glint":"VERSION"/g' -e 's/},{"/},\n{"/g' -e 's/,"\([a-z]*\)":\[{/,\n"\1":[\n{/g' out
