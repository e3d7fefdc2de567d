# Every value that a shell offers for an option is accepted by the verb, and all patterns are offered.
cd "$SCRATCH" || exit 1
"$GLINT" generate bash >bash || exit
tried=0
sed -n "s/^    \([a-z-]*\)--\([a-z-]*\)[ )].* echo '\(one\|list\) \(.*\)' ;;/\1 \2 \4/p" bash >offers
while read -r verb name values; do
    for value in $values; do
        tried=$((tried + 1))
        case $verb in
        record) set -- --analyses values -- no-such-program ;;
        run) set -- -- no-such-program ;;
        check) set -- --fail-on any no-such-file ;;
        *) set -- no-such-file ;;
        esac
        "$GLINT" "$verb" "--$name" "$value" "$@" >out 2>&1
        # The error must be about the program, the file or the baseline, never about the value.
        grep -q -e "no-such" -e "which" -e "given" -e "needed" out || { echo "$verb --$name $value: $(cat out)"; }
    done
done <offers
[ $tried -gt 30 ] || echo "only $tried values: the question is wrong"
folder=${GLINT_SOURCE_DIR:-$OLDPWD/../../..}
sed -n '/^## early-allocation/,$s/^## \([a-z-]*\)$/\1/p' "$folder/docs/reference/patterns.md" | while read -r pattern; do
    grep -q "^check fail-on.* $pattern\( \|$\)" offers || echo "no $pattern"
done
