# A small file system in memory is full. The program continues; glint reports it once, and what was written before can
# be read.
. ./busy
mkdir disk
unshare -rm mount -t tmpfs -o size=4m none disk 2>/dev/null || { echo "SKIP: no disk can be mounted here"; exit 77; }
unshare -rm sh -c '
    mount -t tmpfs -o size=4m none disk && cd disk
    "$GLINT" record -o p.glint --device sim -- "$busy" 60000 2>../said
    echo "status $?"
    grep -v " records: the ring was full\$" ../said >&2 # if the machine is busy
    "$GLINT" query p.glint "select count(*) > 1000 and count(*) < 240000 as some_calls from v_calls"
    "$GLINT" query p.glint "select complete, ended, code from v_meta"
    "$GLINT" report p.glint | grep "is incomplete"
    ls'
