# SPDX-License-Identifier: Apache-2.0
"""What the checkers share: which files there are, their text without comments, their tags."""
import json
import os
import re
import subprocess
import sys

ROOTS = ("include", "src", "cli", "daemon", "examples", "tests", "bench", "lab")
SHIPPED = ("include", "src", "cli", "daemon")


def files(suffixes, roots=ROOTS):
    """Paths below the roots with one of the suffixes, sorted; generated folders left out."""
    found = []
    for root in roots:
        for folder, names, entries in os.walk(root):
            names[:] = [n for n in names if n not in ("corpus", "golden")]
            found += [os.path.join(folder, e) for e in entries if e.endswith(suffixes)]
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def blank(text, keep_strings=False):
    """The text with comments (and strings) blanked; line numbers stay."""
    def cover(m):
        s = m.group(0)
        if s[0] in "\"'":
            return s if keep_strings else s[0] + " " * (len(s) - 2) + s[0]
        return re.sub(r"[^\n]", " ", s)
    return TOKEN.sub(cover, text)


def comments(text):
    """(line, comment) for each comment."""
    for m in TOKEN.finditer(text):
        if m.group(0).startswith("/"):
            yield text.count("\n", 0, m.start()) + 1, m.group(0)


def tags(paths, kinds):
    """Universal ctags' tags of these kinds: dictionaries with path, name, line, end, ..."""
    if not paths:
        return []
    out = subprocess.run(
        ["ctags", "--output-format=json", "--languages=C", "--langmap=C:.c.h",
         f"--kinds-C={kinds}", "--fields=+neSf", "--extras=+F", "-I",
         "SL_NODISCARD,SL_TARGET_CRC32C,SL_PRINTF+,SL_THREAD,SL_UNUSED", "-f", "-"]
        + list(paths),
        capture_output=True, text=True, check=True).stdout
    return [t for t in map(json.loads, out.splitlines())
            if t.get("_type") == "tag" and t.get("kind") != "file"]


class Report:
    """Collects complaints; finish() prints them and gives the exit code."""

    def __init__(self, what):
        self.what = what
        self.count = 0

    def add(self, path, line, text):
        print(f"{path}:{line}: {text}")
        self.count += 1

    def finish(self):
        print(f"{self.what}: {self.count or 'no'} complaint{'' if self.count == 1 else 's'}")
        return 1 if self.count else 0


def main_guard(function):
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    sys.exit(function())
