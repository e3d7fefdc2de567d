# The rule `any` is about findings that the report shows. With a pattern or an amount, a rule is about all of them.
. ./sample
"$(dirname "$GLINT")/../tests/report/write_samples" .
"$GLINT" report flags.glint | grep -A3 '^What to fix first'
for rule in any 'any>1B' memory-leak; do
    "$GLINT" check --fail-on "$rule" flags.glint | head -1
done
"$GLINT" check --fail-on any new.glint | sed -n 3p
