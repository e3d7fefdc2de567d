# Without a file argument, glint uses the newest profile, where the time of its log counts; stderr
# names it.
. ./sample
touch -d '2020-01-01' ./*.glint*
touch -d '2021-01-01' killed.glint
touch -d '2022-01-01' folder-less.txt
mkdir z.glint
"$GLINT" report | head -n 1
"$tests/profile/write_sample" --unfinished log.glint
touch -d '2019-01-01' log.glint
"$GLINT" report | head -n 1
