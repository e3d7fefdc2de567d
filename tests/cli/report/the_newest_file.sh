# Without a file: the newest, where a log that belongs to it counts; which one is said on stderr.
. ./sample
touch -d '2020-01-01' ./*.glint*
touch -d '2021-01-01' killed.glint
touch -d '2022-01-01' folder-less.txt
mkdir z.glint
"$GLINT" report | head -n 1
"$tests/profile/write_sample" --unfinished log.glint
touch -d '2019-01-01' log.glint
"$GLINT" report | head -n 1
