# Rules for a job profile: any rank that breaks one is named.
. ./sample
"$GLINT" merge -o job.glint rank-*.glint || exit
check() {
    "$GLINT" check "$@" 2>&1
    echo "status $?"
}
check --fail-on 'peak>100MiB,unused-allocation>5MiB,unused-allocation>11%' job.glint
check --fail-on 'peak>1GiB' job.glint
mkdir old
"$write" old 8 100
"$GLINT" merge -o old.glint old/*.glint
check --fail-on 'new,worse,growth' --baseline old.glint job.glint
check --fail-on 'growth>90%' --baseline old.glint job.glint
check --fail-on any --baseline rank-00000.glint job.glint
check --fail-on dead-write,single-value job.glint
check --fail-on unnecessary-sync job.glint
printf '[[suppress]]\nobject = "scratch"\nreason = "later"\n[[suppress]]\npath = "stencil.cu:40"\nreason = "none"\n' >rules.toml
check --rules rules.toml --fail-on any,unused-suppression job.glint
"$GLINT" report --rules rules.toml job.glint | grep suppressed
"$GLINT" merge -f -o job.glint rank-0000[0-5].glint rank-00007.glint
check --fail-on any job.glint
