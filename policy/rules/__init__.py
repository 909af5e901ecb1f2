"""The rule language: matches over facts, read from documents and evaluated in three values."""
