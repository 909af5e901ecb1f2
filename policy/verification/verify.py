"""One source against the catalog: the release that it is, what changed, and what random deployments say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from policy.engine.catalog import Catalog, UnknownRelease
from policy.engine.source.deciding import read_deciding_code
from policy.engine.source.oracle import Oracle
from policy.engine.source.tree import SourceError, Tree
from policy.verification.agreement import Disagreement, disagreements, population_for
from policy.verification.changes import Changes, compare
from policy.verification.draft import draft

__all__ = ["Verdict", "Verification", "verify"]

Verdict = Literal["same", "different", "unknown"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What came out. For a release that the catalog knows, `against` is itself; otherwise it is the nearest older
    one, `unknown_because` says why, and `draft` is the file that a person would finish."""

    source: str
    distribution: str | None
    version: str
    against: str
    changes: Changes
    unknown_because: str | None = None
    samples: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    draft: str | None = field(default=None, repr=False)

    @property
    def verdict(self) -> Verdict:
        if self.unknown_because is not None:
            return "unknown"
        return "different" if self.changes or self.disagreements or self.unknown_fields else "same"

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "source": self.source,
            "distribution": self.distribution,
            "vllm": self.version,
            "against": self.against,
            "unknown_because": self.unknown_because,
            "changes": self.changes.as_json(),
            "samples": self.samples,
            "disagreements": [one.as_json() for one in self.disagreements],
            "unknown_fields": list(self.unknown_fields),
            "draft": self.draft,
        }


def verify(
    catalog: Catalog, tree: Tree, *, release: str | None = None, samples: int = 0, seed: int = 1
) -> Verification:
    """Compare `tree` with the catalog, and with `samples` > 0 also ask vLLM's own functions.

    `release` is for sources that do not say which they are. Raises `SourceError` for a source that is not vLLM, or
    has no code that chooses a runner, and `InputError` for a release that is no version.
    """
    version = release or tree.version
    if version is None:
        raise SourceError(f"{tree.name}: it does not say which release it is; give --release RELEASE")
    found = catalog.find(version)
    nearest = found.nearest if isinstance(found, UnknownRelease) else found.release
    engine = catalog.load(nearest or catalog.releases[-1])
    code = read_deciding_code(tree)
    changes = compare(catalog, engine.release, tree, code)
    different: tuple[Disagreement, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    if samples:
        oracle = Oracle(code)
        population = population_for(catalog, code, engine)
        different = tuple(disagreements(engine, oracle, population, samples=samples, seed=seed))
        unknown_fields = tuple(sorted(oracle.unknown_fields))
    unknown = found.reason if isinstance(found, UnknownRelease) else None
    drafted = draft(version, engine, code, changes, tree.name) if unknown else None
    return Verification(
        tree.name,
        tree.distribution,
        version,
        engine.release,
        changes,
        unknown,
        samples,
        different,
        unknown_fields,
        drafted,
    )
