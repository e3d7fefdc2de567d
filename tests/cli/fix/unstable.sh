# Lines that differ between native runs are not compared; all others are, and one line gives the result.
. ./sample
script() { # NAME: a program of the lines read, which ends by running the one with waste
    { echo '#!/bin/sh'; cat; echo 'exec "$wasteful"'; } >"$1"
    chmod 755 "$1"
}
verify() { fix -p w.glint --verify "$@" | sed 's/^run [0-9]*/run N/; s/^more$/more/'; }
last() { verify "$@" | tail -n 1; }
# Each run counts itself in a file: the first two are native, the third is corrected.
count='n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >n'

echo "$count; echo begin; echo run \$n; echo end" | script number
verify -- ./number # one line in three
rm n
# The same number of lines, one of them swapped with its neighbor in the second run.
echo "$count; if [ \$n = 2 ]; then echo a; echo b; else echo b; echo a; fi; echo same" | script swapped
last -- ./swapped
rm n
# More lines in the second run, and still more in the third: the lines around them are compared.
echo "$count; echo begin; i=0; while [ \$i -lt \$n ]; do echo more \$n; i=\$((i + 1)); done; echo end" | script longer
last -- ./longer
rm n
# The corrected run differs in a line on which the native runs agree: before, after and in place of
# the lines on which they differ.
echo "$count; [ \$n = 3 ] && echo begin || echo Begin; echo run \$n; echo end" | script head
last -- ./head
rm n
echo "$count; echo begin; echo run \$n; [ \$n = 3 ] && echo End || echo end" | script tail
last -- ./tail
rm n
echo "$count; i=0; while [ \$i -lt \$n ]; do echo more; i=\$((i + 1)); done; [ \$n = 3 ] && echo End || echo end" | script behind
last -- ./behind
rm n
echo "$count; echo begin; [ \$n = 3 ] && echo one too many; echo end" | script added
last -- ./added
rm n
echo "$count; echo begin; [ \$n = 3 ] || echo missing; echo end" | script missing
last -- ./missing
rm n
# The same rule for files, and for standard error, which does not count.
echo "$count; echo begin >out; echo run \$n >>out; echo run \$n >&2" | script writes
last --compare out -- ./writes
rm n
echo "$count; echo begin >out; [ \$n = 3 ] && echo other >>out; echo said >&2; [ \$n = 3 ] && echo more >&2" | script other
last --compare out -- ./other
cat out
rm n out
echo "$count; [ \$n = 1 ] && echo first >out" | script first
last --compare out -- ./first # a file that comes and goes
rm n
# The exit status, if the native runs agree on it and if they do not.
printf '#!/bin/sh\n%s; "$wasteful"; [ $n = 3 ] && exit 5; exit 4\n' "$count" >ends
printf '#!/bin/sh\n%s; "$wasteful"; exit $n\n' "$count" >always
chmod 755 ends always
last -- ./ends
rm n
last -- ./always
