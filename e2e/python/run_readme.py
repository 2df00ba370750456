"""Runs the SQL and Python of the README on a recorded set, as a reader would.

usage: run_readme.py README_MD FOLDER

FOLDER holds the set under the name `set`, as in the README.
"""

import os
import re
import sys

import duckdb


def main(readme, folder):
    text = open(readme, encoding="utf-8").read()
    blocks = re.findall(r"^```(sql|python)\n(.*?)^```$", text, re.M | re.S)
    assert {language for language, _ in blocks} == {"sql", "python"}, "the README shows SQL and Python"
    os.chdir(folder)
    for language, block in blocks:
        if language == "python":
            exec(compile(block, readme, "exec"), {})
            continue
        rows = duckdb.sql(block).fetchall()
        assert rows, f"no rows from:\n{block}"
        print(rows)


if __name__ == "__main__":
    main(*sys.argv[1:3])
