"""Compare the table of facts with the public OpenAPI description, or write it: python -m tests.contract.public_api."""

import argparse
import difflib
import json
import sys
from pathlib import Path

from tests.contract.public_api import FACTS, notation
from tests.contract.public_api.corrections import correct


def main(arguments: list[str]) -> int:
    """Compare or write the table and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.public_api", description=__doc__)
    parser.add_argument("openapi", type=Path, metavar="OPENAPI", help="the public OpenAPI description")
    parser.add_argument("--write", action="store_true", help=f"write {FACTS.name} instead of comparing it")
    options = parser.parse_args(arguments)
    facts = notation.render(correct(json.loads(options.openapi.read_bytes())))
    if options.write:
        FACTS.write_text(facts)
        return 0
    difference = [*difflib.unified_diff(FACTS.read_text().splitlines(), facts.splitlines(), lineterm="", n=2)]
    if difference:
        print("\n".join(difference))
        print(f"{FACTS.name} differs from {options.openapi}; add --write to update it", file=sys.stderr)
    return int(bool(difference))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
