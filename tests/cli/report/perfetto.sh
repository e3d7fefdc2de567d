# What a decoder finds in the traces, written to a file and through a pipe.
. ./sample
for name in sample timeline empty bare; do
    echo "== $name"
    "$GLINT" report -f --format perfetto -o trace $name.glint || exit
    "$tests/report/check_perfetto" trace || exit
done
"$GLINT" report --format perfetto bare.glint | cmp - trace
