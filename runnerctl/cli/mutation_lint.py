"""What lint finds in a changed policy, for `runnerctl test --mutation --lint`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from datetime import date

from policy.document.source import Document, Source
from policy.engine import Catalog
from policy.lint.lint import lint
from policy.lint.registry import Selection

__all__ = ["findings_of"]


def findings_of(catalog: Catalog, today: date) -> Callable[[Document], Collection[Hashable]]:
    """Gives the errors and warnings of a policy by their codes, each as often as it is found.

    A changed policy has no text of its own, so places are not compared: what counts is one finding more of a kind.
    """
    selection = Selection((), ())

    def findings(document: Document) -> Collection[Hashable]:
        source = Source(document.source.name, json.dumps({**document.data, "tests": []}))
        found = [f.code for f in lint([source], catalog, today, selection) if f.severity != "note"]
        return {(code, number) for code, count in Counter(found).items() for number in range(count)}

    return findings
