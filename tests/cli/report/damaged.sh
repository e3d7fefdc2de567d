. ./sample
dd if=/dev/zero of=sample.glint bs=1024 seek=4 count=128 conv=notrunc 2>/dev/null
"$GLINT" report sample.glint
