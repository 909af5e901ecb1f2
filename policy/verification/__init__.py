"""Proves the engine catalog against vLLM's own source, and drafts what a new release needs."""
