# .glint.toml is found in the folder, or in one above it up to the root of the repository, with used and unused
# suppressions.
. ./sample
mkdir -p repo/.git repo/a/b
cat >repo/.glint.toml <<'END'
fail-on = ["any>1MiB", "memory-leak", "growth>1%"]
baseline = "../old.glint"

[[suppress]]
pattern = "early-allocation"
object = "leaked"
reason = "known"

[[suppress]]
path = "setup"
object = "nothing_*"
reason = "was fixed, perhaps"
END
cd repo/a/b || exit 1
"$GLINT" check ../../../new.glint
echo "status $?"
"$GLINT" check --fail-on unused-suppression ../../../new.glint
echo "status $?"
# With another threshold, glint finds less.
printf '[thresholds]\nearly-apis = 7\n' >>../../.glint.toml
"$GLINT" check ../../../new.glint | head -n 1
# The nearest rules file is used.
echo 'fail-on = ["peak>1TiB"]' >../.glint.toml
"$GLINT" check ../../../new.glint
echo "status $?"
"$GLINT" check --rules ../../.glint.toml ../../../new.glint | head -n 1
# The search does not leave the repository; without one, only this folder is searched.
mv ../../.glint.toml ../../../.glint.toml
rm ../.glint.toml
"$GLINT" check ../../../new.glint 2>&1
echo "status $?"
rmdir ../../.git
"$GLINT" check ../../../new.glint 2>&1
echo "status $?"
