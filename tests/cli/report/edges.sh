# Profiles without a program, without calls, without device memory, of a killed program, and with
# numbers at their limits.
. ./sample
for name in bare empty killed host huge kinds; do
    echo "== $name"
    "$GLINT" report $name.glint || exit
done
