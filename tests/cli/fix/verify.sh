# The corrected run is compared with the native one: output, exit status, and files, which both runs find in their
# original state.
. ./sample
fix -p w.glint --verify -- "$wasteful" exit=3
fix -p w.glint --verify -- "$wasteful" err | sed 's/from byte .*/from a byte on/; s/^time [0-9.]*/time/'
echo before >out
ln out link
chmod 640 out
fix -p w.glint --compare out --compare new -- "$wasteful" out=out once=new
cat link
stat -c %a out
ls new && rm new
fix --compare out --compare new -- "$wasteful" out=out once=new # recorded first
cat link
fix -p w.glint --verify -- "$wasteful" never
printf '123' | fix -p w.glint --verify -- "$wasteful" input
ls
(cd tmp && ls -A)
