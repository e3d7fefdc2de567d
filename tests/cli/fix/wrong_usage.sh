. ./sample
fix
fix --dry-run -- "$wasteful"
fix -p nowhere.glint -- "$wasteful"
fix -p "$root/README.md" -- "$wasteful" | sed "s|$root|ROOT|"
fix -p w.glint --only memory-leak -- "$wasteful"
fix -p w.glint --only unnecesary-sync -- "$wasteful"
fix -p w.glint --except nothing_of_that_name -- "$wasteful"
fix -p w.glint --threshold churn=7 -- "$wasteful"
fix -p w.glint -o w.glint -- "$wasteful"
fix -p w.glint --compare tmp -- "$wasteful"
fix -p w.glint -- nowhere
fix -p w.glint --device nothing -- "$wasteful"
tests=$(dirname "$GLINT")/../tests
"$tests/profile/write_sample" --unfinished unfinished.glint
fix -p unfinished.glint -- "$wasteful"
(cd tmp && ls -A)
