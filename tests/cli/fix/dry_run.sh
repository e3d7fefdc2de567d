# The plan is printed with each remedy and place, nothing is run, and --only and --except choose.
. ./sample
plan() {
    "$GLINT" fix -p w.glint --dry-run "$@" 2>&1 | untimed
    echo
}
plan -- "$wasteful"
plan --only alloc-free-churn
plan --only unnecessary-sync,alloc-free-churn --except 'ste*'
plan --except "wasteful.c:$(grep -n 'DtoH_v2(ignored' "$root/tests/fix/wasteful.c" | cut -d : -f 1)" --only synchronous-transfer
plan --except wasteful.c
plan --only alloc-free-churn --threshold churns=7
ls
