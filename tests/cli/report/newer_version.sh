# The version is at byte 60: 9000 is version 9.0.
. ./sample
printf '\000\000\043\050' | dd of=sample.glint bs=1 seek=60 conv=notrunc 2>/dev/null
"$GLINT" report sample.glint 2>message
status=$?
sed "s|this glint (.*) reads|this glint (VERSION) reads|" message
exit $status
