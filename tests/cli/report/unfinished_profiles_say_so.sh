. ./sample
"$tests/profile/write_sample" --unfinished killed.glint
"$GLINT" report --verbose killed.glint | grep -E '^  (how|warning: this)'
"$GLINT" report --verbose killed.glint --format json | grep -o '"complete":false'
