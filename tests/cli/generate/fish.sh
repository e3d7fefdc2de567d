# The completions work in a separate fish.
command -v fish >/dev/null || { echo "SKIP: no fish"; exit 77; }
"$GLINT" generate fish >"$SCRATCH/glint.fish" || exit
cd "$SCRATCH" && touch a.glint && ln -s "$GLINT" glint || exit 1
cat >ask <<'END'
source glint.fish
function ask
    echo "$argv|" (complete -C "$argv" | string replace -r '\t.*' '')
end
ask 'glint re'
ask 'glint query --f'
ask 'glint query --format '
ask 'glint query --format=j'
ask 'glint query -F t'
ask 'glint diff a'
ask 'glint record --analyses objects,el'
ask 'glint run --device sim:a'
ask 'glint doctor a'
ask 'glint check report --b'
END
HOME=$SCRATCH XDG_CONFIG_HOME=$SCRATCH XDG_DATA_HOME=$SCRATCH PATH="$SCRATCH:$PATH" fish --no-config ask
