. ./sample
"$tests/profile/write_sample" --unfinished killed.glint
"$GLINT" report killed.glint | grep -E '^  (how|warning: this)'
"$GLINT" report killed.glint --format json | grep -o '"complete":false'
