# If there is nothing to correct, the program runs natively.
. ./sample
"$GLINT" record -q -o off.glint --sync-tracking off --device sim -- "$wasteful" >/dev/null
fix -p off.glint -- "$wasteful" exit=3
fix -p off.glint --verify -o c.glint -- "$wasteful"
fix -p w.glint --except wasteful.c -- "$wasteful"
ls
(cd tmp && ls -A)
