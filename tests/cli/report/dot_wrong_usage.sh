# There is no such vertex, and limits are positive numbers.
. ./sample
for part in "--slice none" "--slice 99" "--least-bytes 0" "--least-calls -1" "--least-bytes 1K"; do
    # shellcheck disable=SC2086
    "$GLINT" report --format dot $part sample.glint 2>&1
    echo "exit status $?"
done
