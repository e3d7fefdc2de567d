# The program keeps its streams and exit status, and one line says what was corrected. The profile of the run can be
# kept, is marked as corrected, and is refused as the basis of another correction.
. ./sample
fix -p w.glint -o c.glint -- "$wasteful" exit=3
fix -q -p w.glint -- "$wasteful"
printf '12345' | fix -p w.glint --only alloc-free-churn -- "$wasteful" input
"$GLINT" query c.glint "select remedy, count(*) as places from v_corrections where applied and remedy <> 'drop-sync' group by remedy"
"$GLINT" query c.glint "select distinct function from v_call_paths where function = 'main'"
COLUMNS=300 "$GLINT" report c.glint | sed -n 's/([0-9]* call/(N call/g; s/drop-sync at 1 place (N calls*), //; s/.*warning: this run/this run/p'
fix -p w.glint -o c.glint -- "$wasteful"
fix -p c.glint -- "$wasteful"
fix -p w.glint -- "$wasteful" steps=0
printf '#!/bin/sh\nkill -TERM $$\n' >script
chmod 755 script
fix -p w.glint -- ./script | grep -v Terminated
(cd tmp && ls -A)
