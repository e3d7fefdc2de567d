../../../scripts/have jq >/dev/null || exit 77
cd ../../..
for file in examples/*/*.ptx; do
    "$GLINT" ptx -F json "$file" | jq -e '.kernels | length > 0 and all(.[]; .name and .params and .layouts and .shared and .sites)' >/dev/null ||
        echo "$file: not as promised"
done
