"""Write `policy/engine/names/<release>.json`: the architectures and environment variables of vLLM releases.

    python tools/extract_names.py --out policy/engine/names 0.22.0=/src/a 0.33.0=/src/b ...
    python tools/extract_names.py --out policy/engine/names /src/* vllm-0.33.0-*.whl

Each argument is one unpacked release (with `vllm/` in it) or a wheel; without `RELEASE=` the release is the one
that it says it is. What the files hold is documented in `policy/engine/source/names.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from policy.engine.source import SourceError, names_text, open_tree


def main(arguments: Sequence[str] | None = None) -> int:
    """Read each release, write its file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("releases", nargs="+", metavar="[RELEASE=]SOURCE")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    options = parser.parse_args(arguments)
    for argument in options.releases:
        release, _, source = argument.rpartition("=")
        try:
            tree = open_tree(Path(source))
            release = release or tree.version or Path(source).name
            text = names_text(release, tree)
        except SourceError as error:
            print(error, file=sys.stderr)
            return 2
        (options.out / f"{release}.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
