# A synchronization after which the program reads the clock bounds a measurement: it is not waste, and is kept.
. ./sample
"$GLINT" record -q -o t.glint --analyses objects,sync --device sim -- "$wasteful" measured >/dev/null || exit
"$GLINT" fix -p t.glint --dry-run 2>&1 | untimed
"$GLINT" query t.glint "select count(*) as syncs from v_calls where name = 'cuCtxSynchronize'"
"$GLINT" report t.glint --format json | grep -c '"unnecessary-sync"'
true
