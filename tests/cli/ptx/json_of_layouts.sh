../../../scripts/have jq >/dev/null || exit 77
cd ../../../tests/ptx/facts/layout
"$GLINT" ptx --format json --kernels '^only_copied$' structures.ptx | jq -c '.kernels[0].layouts[]'
"$GLINT" ptx --format json --kernels '^variables$' arrays.ptx | jq -c '.kernels[0].layouts[]'
"$GLINT" ptx --format json --kernels '^two_sizes$' unknown.ptx | jq -c '.kernels[0].layouts[]'
