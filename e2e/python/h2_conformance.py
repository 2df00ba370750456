"""Puts a server of HTTP/2 by prior knowledge through the cases of conformance/.

usage: h2_conformance.py URL

The server must answer POST and GET of any path with 200 and a body of 16 bytes or more. Prints as JSON how many cases
passed, and which passed with a general error code only or failed, and how.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from conformance import flow, messages  # noqa: F401  # they register their cases
from conformance.cases import CASES
from conformance.wire import Closed, Failed, General


def run(case, host, port):
    """The grade of a case and, unless it passed, what happened."""
    section, name, function = case
    try:
        function(host, port)
    except General as error:
        return "general", f"{section} {name}: {error}"
    except Failed as error:
        return "failed", f"{section} {name}: {error}"
    except Closed:
        return "failed", f"{section} {name}: the connection was closed"
    return "passed", None


def main(url):
    host, port = url.removeprefix("http://").split(":")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda case: run(case, host, int(port)), CASES))
    grades = {grade: [what for one, what in results if one == grade] for grade in ("general", "failed")}
    print(json.dumps({"passed": sum(1 for grade, _ in results if grade == "passed"), **grades}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
