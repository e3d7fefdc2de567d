../../../scripts/have jq >/dev/null || exit 77
cd ../../.. && "$GLINT" ptx --format json examples/sgemm_tiled/sgemm_tiled.ptx |
    jq -S '{kernels: [.kernels[] | {name, demangled, params, layouts, shared, loops, sites: [.sites[0, 3, 6, 39]]}], functions}'
