"""The command line: one verb a file. It parses, calls and exits; what it calls lives elsewhere."""
