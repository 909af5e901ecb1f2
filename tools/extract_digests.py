"""Write `policy/engine/source_digests.json`: digests of the functions by which vLLM releases choose a runner.

    python tools/extract_digests.py --out policy/engine/source_digests.json /src/* vllm-0.33.0-*.whl

Each argument is one unpacked release or a wheel; releases that are not named keep their entries. A digest says
that code is the same, and keeps none of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from policy.engine.source import SourceError, digests, open_tree, read_deciding_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Read each release, merge its digests into the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the file to write or to add to")
    options = parser.parse_args(arguments)
    known = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else {}
    try:
        for source in options.sources:
            tree = open_tree(source)
            known[Version(tree.version or source.name).base_version] = digests(read_deciding_code(tree))
    except SourceError as error:
        print(error, file=sys.stderr)
        return 2
    ordered = {release: known[release] for release in sorted(known, key=Version)}
    options.out.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
