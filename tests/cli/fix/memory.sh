# Memory that is allocated early and freed late exists only while it is used: the peak is that of one object and of
# what is allocated after it.
. ./sample
"$GLINT" record -q -a objects,sync -o m.glint --device sim -- "$wasteful" memory steps=0 >/dev/null || exit
"$GLINT" fix -p m.glint --dry-run 2>&1 | untimed
fix -p m.glint --verify -o c.glint -- "$wasteful" memory steps=0 | sed 's/peak [89]\.0 MiB/peak 8 or 9 MiB/'
"$GLINT" fix -p m.glint --dry-run --except late-deallocation 2>&1 | untimed
"$GLINT" query c.glint "select remedy, applied, left_alone from v_corrections where remedy = 'back'"
# A near miss: in the end both objects are needed at once, so the peak does not depend on their
# lifetimes.
"$GLINT" record -q -a objects,sync -o t.glint --device sim -- "$wasteful" memory together steps=0 >/dev/null || exit
"$GLINT" fix -p t.glint --dry-run 2>&1 | untimed
