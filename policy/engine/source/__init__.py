"""Reads vLLM's own source, as a folder or wheel, to prove the catalog against it. vLLM is never imported."""

from policy.engine.source.deciding import DecidingCode, read_deciding_code
from policy.engine.source.digest import digests, known_digests
from policy.engine.source.names import environment_variables, names_text, registered_classes
from policy.engine.source.oracle import Answer, Oracle
from policy.engine.source.tree import SourceError, Tree, open_tree

__all__ = [
    "Answer",
    "DecidingCode",
    "Oracle",
    "SourceError",
    "Tree",
    "digests",
    "environment_variables",
    "known_digests",
    "names_text",
    "open_tree",
    "read_deciding_code",
    "registered_classes",
]
