# A profile of another build, of another program, or of a program without a build id is refused before anything runs.
. ./sample
build() {
    ${CC:-cc} -std=gnu11 -g "$@" -o program "$root/examples/driver_api/driver_api.c" -ldl || exit
}
set -- 16 "$root/examples/sgemm/sgemm.ptx"
build -O2 -Wl,--build-id
"$GLINT" record -q -a objects,sync -o p.glint --device sim -- ./program "$@" >/dev/null
fix -p p.glint -- ./program "$@" | grep -v '^glint:'
build -O1 -Wl,--build-id
fix -p p.glint -- ./program "$@"
fix -p p.glint --dry-run -- ./program
fix -p w.glint -- ./program "$@"
build -O2 -Wl,--build-id=none
fix -p p.glint -- ./program "$@"
"$GLINT" record -q -f -a objects,sync -o p.glint --device sim -- ./program "$@" >/dev/null
fix -p p.glint -- ./program "$@"
