. ./sample
cat >rules.toml <<'END'
fail-on = ["memory-leak", "peak>1GiB", "growth"]
[[suppress]]
object = "grown"
reason = "wanted"
END
"$GLINT" check --format json -r rules.toml --baseline old.glint new.glint -o out
status=$?
sed -e 's/"glint":"[^"]*"/"glint":"VERSION"/' -e 's/},{"/},\n{"/g' out
exit $status
