"""runnerctl: declarative policies for vLLM's model runner."""

__version__ = "0.1.0"
