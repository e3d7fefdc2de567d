#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a document and compares what they print with what it shows.

    commands.py [--update] DOCUMENT GLINT ROOT

Commands are the lines "$ ..." of the blocks that begin with ```console; what follows them up to the next one is their
output, on both streams. They are run in a new folder that has ROOT's examples, with GLINT in the path and lines of 100
columns; in the document that folder is called FOLDER below. Where something took time, and what waited for it, differs from
run to run and is not compared. A command that fails must be followed by "$ echo $?". --update writes what came out
into the document, where it is another. Exit status: 0 all is the same, 1 something is not, 77 something needed is missing.
"""
import os
import re
import subprocess
import sys
import tempfile

FOLDER = "/home/you/glint"


def plain(text):
    """The text without what differs from run to run: times, what waited, and tables that have nothing else."""
    text = re.sub(r"\b\d+(\.\d+)? (ns|us|ms|s)\b", "TIME", text)
    text = re.sub(r"\b\d+ calls? waited", "N calls waited", text)
    text = re.sub(r"finds (which were|whether it was) needed", "finds which were needed", text)
    text = re.sub(r"CUDA\s+(?=\d)", "CUDA ", text)  # where the line breaks depends on a time before it
    text = re.sub(r"\d+ remed(y|ies) applied at .* removed(, \d+ put off)?", "REMEDIES applied", text)
    text = re.sub(r" \([-+]?\d+ %\)", "", text)
    text = re.sub(r"[-+]TIME( \([-+]?[\d.]+%\))?", "TIME", text)
    lines = [line for line in text.split("\n") if not re.match(r"\s*wait(ed)?\b", line)]
    text = re.sub(r"[ \t]+", " ", "\n".join(lines))
    return re.sub(r"\n(Better|Worse|New|Gone)\n what [^\n]*\n(?=\n|$)", "", text)


def run(command, folder, status):
    done = subprocess.run(["sh", "-c", command.replace("$?", str(status))], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120, check=False)
    return done.returncode, done.stdout.decode().replace(folder, FOLDER)


def main():
    update = sys.argv[1] == "--update"
    document, glint, root = sys.argv[1 + update:]
    os.environ.update(PATH=os.path.dirname(os.path.abspath(glint)) + ":" + os.environ["PATH"], COLUMNS="100", NO_COLOR="1",
                      LC_ALL="C")
    with open(document, encoding="utf-8") as file:
        parts = re.split(r"(?m)^(```console\n.*?^```\n)", file.read(), flags=re.S)
    count = differences = status = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/.cache"
        os.symlink(os.path.join(root, "examples"), folder + "/examples")
        for i, part in enumerate(parts):
            if not part.startswith("```console\n"):
                continue
            told = ""
            for step in re.split(r"(?m)^(?=\$ )", part[len("```console\n"):-len("```\n")])[1:]:
                command, _, expected = step.partition("\n")
                if status and command != "$ echo $?":
                    print(f"{command}: the command before it failed with {status}, and nobody asks")
                    return 1
                status, output = run(command[2:], folder, status)
                if "without the page" in output:
                    print("SKIP: this glint has no page")
                    return 77
                count += 1
                if plain(output) == plain(expected):
                    told += step
                    continue
                differences += 1
                told += command + "\n" + output
                if not update:
                    print(f"{command}\n--- expected\n{expected}--- came\n{output}")
            parts[i] = "```console\n" + told + "```\n"
    if update and differences:
        with open(document, "w", encoding="utf-8") as file:
            file.write("".join(parts))
    if count == 0:
        print("there are no commands in", document)
        return 1
    print(f"{count} commands, {differences} with another output")
    return 1 if differences and not update else 0


sys.exit(main())
