#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lint tools must be able to say no: each is run on a small tree with one fault."""
import os
import shutil
import subprocess
import tempfile

HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n/* For a test. */\n"
DEEP = ("int sl_f(int a);\nint sl_f(int a)\n{\n" + "\tif (a)\n" * 3 + "\t\twhile (a)\n\t\t\ta--;\n"
        "\treturn a;\n}\n")
ELSE = ("int sl_f(int a);\nint sl_f(int a)\n{\n" + "\tif (a == 1)\n\t\ta = 2;\n\telse "
        + "if (a == 3)\n\t\ta = 4;\n\telse " * 5 + "a = 9;\n\treturn a;\n}\n")
LONG = "void sl_f(void);\nvoid sl_f(void)\n{\n" + "\tsl_f();\n" * 58 + "}\n"
BRANCHY = "int sl_f(int a);\nint sl_f(int a)\n{\n" + "\tif (a)\n\t\ta--;\n" * 15 + "\treturn a;\n}\n"
SEVEN = "void sl_f(int a, int b, int c, int d, int e, int f, int g);\n" \
        "void sl_f(int a, int b, int c, int d, int e, int f, int g)\n{\n}\n"

# (what, tool, {path: text}, the complaint or None for a clean tree)
CASES = [
    ("a clean tree passes the layers", "layers",
     {"src/graph/a.c": '#include "base/b.h"\n', "src/base/b.h": ""}, None),
    ("an include against the direction", "layers",
     {"src/base/a.c": '#include "graph/b.h"\n', "src/graph/b.h": ""}, "may not include graph"),
    ("a private header of another folder", "layers",
     {"src/graph/a.c": '#include "base/b_int.h"\n', "src/base/b_int.h": ""}, "is private"),
    ("a library's header outside its home", "layers",
     {"src/graph/a.c": "#include <openssl/evp.h>\n"}, "belongs to"),
    ("a header that is not there", "layers", {"src/graph/a.c": '#include "base/no.h"\n'},
     "is not there"),
    ("the own header not first", "layers",
     {"src/base/a.c": '#include <stdio.h>\n#include "base/a.h"\n', "src/base/a.h": ""},
     "first include"),
    ("a folder without a row", "layers", {"src/odd/a.c": ""}, "no row"),
    ("else-if chains are not deep", "budgets", {"src/base/a.c": ELSE}, None),
    ("four levels of nesting", "budgets", {"src/base/a.c": DEEP}, "nested 4 deep"),
    ("a function of 61 lines", "budgets", {"src/base/a.c": LONG}, "61 lines"),
    ("complexity 16", "budgets", {"src/base/a.c": BRANCHY}, "complexity 16"),
    ("seven parameters", "budgets", {"src/base/a.c": SEVEN}, "7 parameters"),
    ("a header of 260 lines", "budgets", {"src/base/a.h": "\n" * 258}, "260 lines"),
    ("a mutable global", "budgets", {"src/base/a.c": "static int count;\n"}, "mutable state"),
    ("a table of mutable pointers", "budgets",
     {"src/base/a.c": 'static const char *names[] = {"a"};\n'}, "mutable state"),
    ("a constant table", "budgets",
     {"src/base/a.c": 'static const char *const names[] = {"a"};\n'}, None),
    ("#if in the logic", "budgets", {"src/op/a.c": "#ifdef FAST\n#endif\n"}, "not for this folder"),
    ("a public name without prefix", "names",
     {"src/base/a.c": "int grow(void);\nint grow(void)\n{\n\treturn 0;\n}\n"}, "starts with sl_"),
    ("a static name with prefix", "names",
     {"src/base/a.c": "static int sl_grow(void)\n{\n\treturn 0;\n}\n"}, "has no prefix"),
    ("a header that needs another", "names", {"src/base/a.h": "size_t sl_f(void);\n"},
     "does not compile alone"),
    ("a banned call", "banned", {"src/base/a.c": "void f(void) { strcpy(a, b); }\n"}, "strcpy"),
    ("a raw free", "banned", {"src/base/a.c": "void f(void) { free(a); }\n"}, "sl_free"),
    ("a banned name in a comment or a text", "banned",
     {"src/base/a.c": '/* strcpy(a) */ static const char *const t = "strcpy(x)";\n'}, None),
    ("a switch over operators", "banned", {"src/exec/a.c": "case SL_OP_RELU:\n"}, "switch"),
    ("a function in a comment that does not exist", "docs",
     {"src/base/a.c": "/* see sl_nowhere() */\n", "src/base/README.md": ""}, "does not exist"),
    ("a TODO without issue", "docs",
     {"src/base/a.c": "/* TODO later */\n", "src/base/README.md": ""}, "names its issue"),
    ("a link that leads nowhere", "docs", {"docs/a.md": "[x](no.md)\n"}, "leads nowhere"),
]

LAYERS = "base -\ngraph base\nop base graph\nexec base graph op\n"


def run(tool, tree):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree("tools", folder + "/tools", ignore=shutil.ignore_patterns("__pycache__"))
        files = {"src/LAYERS": LAYERS, "include/sluice/ops.def": HEAD}
        files.update({p: t if p.endswith(".md") else HEAD + t for p, t in tree.items()})
        for path, text in files.items():
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            with open(f"{folder}/{path}", "w", encoding="utf-8") as f:
                f.write(text)
        out = subprocess.run([f"{folder}/tools/check-{tool}"], capture_output=True, text=True,
                             env=dict(os.environ, GIT_CEILING_DIRECTORIES=folder))
        return out.returncode, out.stdout + out.stderr


def main():
    failed = 0
    for what, tool, tree, want in CASES:
        code, text = run(tool, tree)
        good = (code == 0) if want is None else (code == 1 and want in text)
        if not good:
            failed += 1
            print(f"{what}: check-{tool} ended with {code}; wanted: {want}\n{text}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
