"""Documents: YAML text to values with a line and a column on every node, checked against JSON Schema."""

from policy.document.diagnostic import Diagnostic, DocumentError, Location
from policy.document.source import Document, Source, parse, read_source

__all__ = ["Diagnostic", "Document", "DocumentError", "Location", "Source", "parse", "read_source"]
