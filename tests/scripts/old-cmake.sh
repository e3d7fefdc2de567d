#!/bin/sh
# The build needs no CMake newer than 3.20, by what its files use: commands, properties and fields of presets that came
# later are not there. A list of what came later is never complete; it has what is likely to be used.
set -eu
cd "$(dirname "$0")/../.."
bad=0
fail() { echo "$*"; bad=1; }

grep -q '^cmake_minimum_required(VERSION 3\.20' CMakeLists.txt || fail "CMakeLists.txt does not say that 3.20 is enough"

# Version 2 of presets is that of CMake 3.20.
python3 - CMakePresets.json <<'END' || bad=1
import json, sys
presets = json.load(open(sys.argv[1]))
need = presets["cmakeMinimumRequired"]
wrong = []
if presets["version"] != 2:
    wrong.append(f'version {presets["version"]}')
if (need["major"], need["minor"]) != (3, 20):
    wrong.append(f"cmakeMinimumRequired {need}")
allowed = {"name", "hidden", "inherits", "displayName", "description", "generator", "binaryDir", "cacheVariables", "environment"}
for preset in presets["configurePresets"]:
    wrong += [f'{preset["name"]}: {field}' for field in preset if field not in allowed]
    if "generator" not in preset and "inherits" not in preset:
        wrong.append(f'{preset["name"]}: no generator')
print("".join(f"CMakePresets.json: {what}: not in CMake 3.20\n" for what in wrong), end="")
sys.exit(bool(wrong))
END

files=$(git ls-files '*CMakeLists.txt' '*.cmake' 2>/dev/null || find . -name CMakeLists.txt -o -name '*.cmake')
# 3.21: install(RUNTIME_DEPENDENCY_SET), PROJECT_IS_TOP_LEVEL, file(COPY_FILE), cmake_language(DEFER) is older; 3.22:
# ENVIRONMENT_MODIFICATION, cmake_host_system_information(QUERY DISTRIB_); 3.23: FILE_SET; 3.24: LINK_LIBRARY, LINK_GROUP,
# cmake_path(... COMPARE) is older, CMAKE_COMPILE_WARNING_AS_ERROR; 3.25: block(), return(PROPAGATE), try_compile(SOURCE_FROM_).
# shellcheck disable=SC2086 # a list of files
! grep -nE 'RUNTIME_DEPENDENC|PROJECT_IS_TOP_LEVEL|COPY_FILE|ENVIRONMENT_MODIFICATION|DISTRIB_|FILE_SET|LINK_LIBRARY:|LINK_GROUP:|COMPILE_WARNING_AS_ERROR|^[[:space:]]*block\(|PROPAGATE|SOURCE_FROM_|PATH_EQUAL|\$<(LIST|PATH|TARGET_RUNTIME_DLLS|COMPILE_ONLY):|CMAKE_COLOR_DIAGNOSTICS|find_(library|program|path|file)\(.*VALIDATOR|ABSOLUTE_PATHS' $files ||
    fail "see above: these are not in CMake 3.20"
exit $bad
