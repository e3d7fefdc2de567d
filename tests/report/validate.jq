# Holds a document to a JSON Schema: jq -r --slurpfile schema SCHEMA -f validate.jq DOCUMENT prints
# a line for each thing that is wrong. It knows the keywords that docs/report.schema.json uses, and
# says so where it meets another. Stricter than JSON Schema: members must be in the schema.

def known: ["$ref", "type", "enum", "const", "minimum", "minItems", "maxItems", "items", "required", "properties",
            "allOf", "if", "then", "$schema", "$defs", "title", "description"];

def is($wanted): if $wanted == "integer" then type == "number" and . == floor else type == $wanted end;

def wrong($schema; $root; $at; $strict):
  . as $value |
  ($schema | keys[] | select(. as $key | known | index([$key]) | not) | "\($at): what is '\(.)' in the schema?"),
  if $schema | has("$ref") then
    ($root["$defs"][$schema["$ref"] | ltrimstr("#/$defs/")]) as $named |
    if $named then wrong($named; $root; $at; $strict) else "\($at): no \($schema["$ref"])" end
  else
    ([$schema.type // empty] | flatten) as $types |
    (if ($types | length) > 0 and (any($types[]; . as $type | $value | is($type)) | not)
     then "\($at): \($value | tojson) is not of type \($types | join(" or "))" else empty end),
    (if ($schema | has("enum")) and (any($schema.enum[]; . == $value) | not)
     then "\($at): \($value | tojson) is none of \($schema.enum | tojson)" else empty end),
    (if ($schema | has("const")) and $schema.const != $value
     then "\($at): \($value | tojson) is not \($schema.const | tojson)" else empty end),
    (if ($schema | has("minimum")) and ($value | type) == "number" and $value < $schema.minimum
     then "\($at): \($value) is less than \($schema.minimum)" else empty end),
    (if ($value | type) == "array" then
       (if $value | length < ($schema.minItems // 0) or length > ($schema.maxItems // infinite)
        then "\($at): has \($value | length) items" else empty end),
       (if $schema | has("items") then
          range($value | length) as $i | $value[$i] | wrong($schema.items; $root; "\($at)[\($i)]"; $strict)
        else empty end)
     else empty end),
    (if ($value | type) == "object" then
       (($schema.required // [])[] | select(. as $key | $value | has($key) | not) | "\($at): no '\(.)'"),
       ($value | keys_unsorted[]) as $key |
       if ($schema.properties // {}) | has($key)
       then $value[$key] | wrong($schema.properties[$key]; $root; "\($at).\($key)"; $strict)
       elif $strict and ($schema | has("properties")) then "\($at): '\($key)' is not in the schema" else empty end
     else empty end),
    (($schema.allOf // [])[] | . as $rule |
     if [$value | wrong($rule.if; $root; $at; false)] == []
     then $value | wrong($rule.then; $root; $at; false) else empty end)
  end;

wrong($schema[0]; $schema[0]; "$"; true)
