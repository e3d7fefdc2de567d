# What warps take to reach memory at each instruction: a product of matrices of 96 x 96.
. ./busy
driver_api=$root/build/examples/driver_api
[ -z "${GLINT_BUILD_DIR-}" ] || driver_api=$GLINT_BUILD_DIR/examples/driver_api
[ -x "$driver_api" ] || { echo "SKIP: examples are not built"; exit 77; }
"$GLINT" record -q -o p.glint --device sim -a requests -- "$driver_api" 96 "$root/examples/sgemm/sgemm.ptx" >/dev/null
echo "status $?"
"$GLINT" query p.glint "select c.kind, k.opcode, r.space, r.object, r.requests, r.sectors, r.lines, r.wavefronts, r.needed
    from v_requests r join v_calls c on c.number = r.call
    join v_kernel_sites k on k.kernel = r.kernel and k.number = r.site order by r.call, r.site"
"$GLINT" query p.glint "select name, value from v_settings where name = 'analyses'"
"$GLINT" record -q -o q.glint --device sim -- "$driver_api" 96 "$root/examples/sgemm/sgemm.ptx" >/dev/null
"$GLINT" query q.glint "select count(*) from v_requests"
