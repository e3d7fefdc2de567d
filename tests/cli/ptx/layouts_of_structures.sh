cd ../../../tests/ptx/facts/layout
for kernel in particles with_gaps only_copied variables two_sizes; do
    for file in *.ptx; do "$GLINT" ptx --kernels "^$kernel\$" "$file" 2>/dev/null; done | sed -n '/layouts/,/memory sites/p' | sed '1d;$d'
done
