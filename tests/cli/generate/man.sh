# The man pages are valid roff and lose nothing.
command -v scdoc >/dev/null || { echo "SKIP: no scdoc (make deps)"; exit 77; }
cd "$SCRATCH" || exit 1
for verb in '' $("$GLINT" generate verbs); do
    page=glint${verb:+-$verb}
    # shellcheck disable=SC2086 # no word for none
    "$GLINT" generate man $verb | scdoc >$page.1 || exit
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W error $page.1
    fi
    # Every word of the help is in the rendered page.
    if [ -n "$verb" ] && command -v man >/dev/null && MANWIDTH=200 man --nh --nj -l $page.1 >shown 2>/dev/null; then
        tr -s ' \n' '\n\n' <shown | sort -u >words
        "$GLINT" $verb --help | sed 1d | tr -s ' \n' '\n\n' | sort -u | comm -23 - words | grep . | sed "s/^/$page lacks: /"
    fi
done
echo "$page"
