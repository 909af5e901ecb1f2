"""Writes policy/engine/registered.json: the names of all releases in one table, from policy/engine/names/.

    python tools/index_names.py

Run it after `tools/extract_names.py` has added a release; a test fails where it was forgotten.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from policy.engine.catalog import Catalog  # noqa: E402
from policy.engine.registered import table  # noqa: E402


def text() -> str:
    """The file, one name a line."""
    found = table(Catalog())
    parts = [f'"releases": {json.dumps(found["releases"])}', f'"listed": {found["listed"]}']
    for part in ("architectures", "variables"):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found[part].items())
        parts.append(f'"{part}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    (ROOT / "policy" / "engine" / "registered.json").write_text(text(), "utf-8")
