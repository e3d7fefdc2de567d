# Each option and verb of the help is in the man pages and in the completions of every shell.
cd "$SCRATCH" || exit 1
for shell in bash zsh fish; do
    "$GLINT" generate $shell >$shell || exit
done
"$GLINT" generate man >man || exit
options=0
for verb in $("$GLINT" generate verbs); do
    "$GLINT" $verb --help >help || exit
    "$GLINT" generate man $verb >man-$verb || exit
    grep -q "^\*glint-$verb\*(1)" man || echo "man: no $verb"
    # The text about the verb, for each shell.
    sed -n "s/^    $verb) options='\([^']*\)'.*/\1 /p" bash >bash-$verb
    sed -n "/^    $verb)/,/;;/p" zsh >zsh-$verb
    sed -n "s/.*'__glint_verb $verb' \(-l.*\)/\1/p" fish >fish-$verb
    sed -n 's/^  \(-.\|  \),\{0,1\} *--\([a-z-]*\).*/\1 \2/p' help >list
    [ -s list ] || echo "$verb: no options in the help: the question is wrong"
    while read -r letter name; do
        [ -n "$name" ] || { name=$letter letter=; }
        options=$((options + 1))
        grep -q -e "\*--$name\*" man-$verb || echo "man: $verb has no --$name"
        grep -q -e " --$name " bash-$verb || echo "bash: $verb has no --$name"
        grep -q -e "--$name[^a-z-]" zsh-$verb || echo "zsh: $verb has no --$name"
        grep -q -e "^-l $name " fish-$verb || echo "fish: $verb has no --$name"
        [ -z "$letter" ] && continue
        grep -q -e "\*$letter\*, \*--$name\*" man-$verb || echo "man: $verb has no $letter"
        grep -q -e " --$name $letter " bash-$verb || echo "bash: $verb has no $letter"
        grep -q -e "{$letter,--$name" zsh-$verb || echo "zsh: $verb has no $letter"
        grep -q -e "^-l $name -s ${letter#-} " fish-$verb || echo "fish: $verb has no $letter"
    done <list
done
[ $options -gt 40 ] || echo "only $options options: the question is wrong"
