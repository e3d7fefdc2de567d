# Profiles without a program, without calls and without device memory, of programs that ended by a signal, by exec, or
# unseen, and with extreme numbers.
. ./sample
for name in bare empty killed ended replaced host huge kinds; do
    echo "== $name"
    "$GLINT" report --verbose $name.glint || exit
done
