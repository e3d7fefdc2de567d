# A profile that is truncated at any byte gives one line of error and no report.
. ./sample
size=$(wc -c <sample.glint)
for length in 0 1 50 99 100 512 4095 4096 4097 8192 $((size / 2)) $((size / 2 + 100)) $((size - 4096)) $((size - 1)); do
    head -c "$length" sample.glint >cut.glint
    "$GLINT" report cut.glint >output 2>message
    status=$?
    [ $status = 2 ] && [ ! -s output ] && [ "$(wc -l <message)" = 1 ] ||
        echo "cut to $length of $size bytes: status $status, $(wc -c <output) bytes of output, $(cat message)"
    cat message
done | sort | uniq -c
