"""Output formats that several verbs share."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["DryRunFormat", "Format", "ReportFormat"]


class Format(StrEnum):
    text = "text"
    json = "json"


class DryRunFormat(StrEnum):
    text = "text"
    json = "json"
    shell = "shell"
    dotenv = "dotenv"


class ReportFormat(StrEnum):
    text = "text"
    json = "json"
    markdown = "markdown"
