"""Policies for vLLM's model runner: documents, facts, the engine catalog, decisions and compiled policies."""
