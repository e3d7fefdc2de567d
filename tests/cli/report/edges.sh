# Profiles without a program, without calls, without device memory, of programs whose end came by a
# signal, by exec, or unseen, and with numbers at their limits.
. ./sample
for name in bare empty killed ended replaced host huge kinds; do
    echo "== $name"
    "$GLINT" report --verbose $name.glint || exit
done
