"""The engine catalog: what each vLLM release picks by itself, and what each runner cannot serve there."""

from policy.engine.catalog import Catalog, UnknownRelease
from policy.engine.release import Choice, EngineRelease, Gap

__all__ = ["Catalog", "Choice", "EngineRelease", "Gap", "UnknownRelease"]
