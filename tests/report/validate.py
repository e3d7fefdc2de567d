#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds JSON documents to a JSON Schema: validate.py [--closed] SCHEMA DOCUMENT...

Prints "DOCUMENT: PLACE: MESSAGE" for each thing that is wrong, and then exits with 1. With --closed,
members that the schema does not name are wrong, too: the schemas of contracts leave objects open
for later versions, and what this version writes must all be in them.
"""
import json
import sys

from jsonschema.validators import validator_for


def close(schema):
    """Refuses other members of objects that have a list of them, but not in conditions."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    for part in ("properties", "$defs"):
        for inner in schema.get(part, {}).values():
            close(inner)
    if "items" in schema:
        close(schema["items"])


def main(arguments):
    closed = arguments[:1] == ["--closed"]
    schema_path, *documents = arguments[closed:]
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    if closed:
        close(schema)
    kind = validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema)
    good = True
    for path in documents:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        for error in validator.iter_errors(document):
            print(f"{path}: {error.json_path}: {error.message[:300]}")
            good = False
    return 0 if good else 1


sys.exit(main(sys.argv[1:]))
