# Without a profile the program is recorded first. Its output is printed once, both runs get the same input, and a
# program without anything to correct is not run again.
. ./sample
told() { # what was corrected is another test's concern
    fix "$@" | grep -v -e ' applied' -e 'nothing was corrected'
}
printf '123' | told -- "$wasteful" input exit=4
printf '1234' >input
told -- "$wasteful" input <input
fix -- sh -c 'echo one >>runs; echo printed; echo said >&2; exit 5'
cat runs
fix -o c.glint -- "$wasteful" steps=0
fix -- sh -c 'kill -KILL $$' | grep -v Killed
ls
(cd tmp && ls -A)
