"""Ask the catalog and vLLM's own functions about random deployments; every difference is printed. `make catalog-verify`.

    python tools/catalog_verify.py --samples 5000 /src/* vllm-0.33.0-*.whl     # folders and wheels at hand
    python tools/catalog_verify.py --samples 5000 --download                   # every release, wheel by wheel
    python tools/catalog_verify.py --samples 5000 --download 0.33.0            # one

A wheel is 300 to 500 MB; each is taken from the package index into a temporary folder, read and deleted. vLLM's code
runs without being imported, with stand-ins for its configs, and is kept nowhere. The digests of its deciding
functions, its architectures and its variables are compared too. Exit 0: no difference; 1: differences; 2: no source.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from policy.engine import Catalog, EngineRelease
from policy.engine.source import Oracle, SourceError, Tree, open_tree, read_deciding_code
from policy.verification.agreement import disagreements, population_for
from policy.verification.changes import compare

SHOWN = 5


def verify(catalog: Catalog, tree: Tree, samples: int, seed: int) -> int:
    """Check one source; prints a line and the first differences. Returns how many there are."""
    found = catalog.find(tree.version or Path(tree.name).name)
    if not isinstance(found, EngineRelease):
        raise SourceError(f"{tree.name}: {found.reason}")
    code = read_deciding_code(tree)
    changed = compare(catalog, found.release, tree, code).lines()
    population = population_for(catalog, code, found)
    different = list(disagreements(found, Oracle(code), population, samples=samples, seed=seed))
    print(
        f"{found.release}: {samples - len(different)} of {samples} deployments agree, {len(changed)} changes in source"
    )
    for line in changed[:SHOWN]:
        print(f"  {line}")
    for one in different[:SHOWN]:
        print(f"  facts    {json.dumps(one.facts)}\n  catalog  {one.catalog}\n  vllm     {one.vllm}")
    return len(changed) + len(different)


def downloaded(release: str) -> Iterator[Tree]:
    """The wheel of a release, for as long as it is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        # Whatever this machine is, the wheel for Linux on x86-64 is what most fleets run.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.12"]
        command += [f"--platform=manylinux_2_{glibc}_x86_64" for glibc in (17, 28, 31, 35)]
        command += ["--platform=manylinux1_x86_64", "--platform=manylinux2014_x86_64", f"vllm=={release}"]
        try:
            subprocess.run(command, check=True)
        except subprocess.CalledProcessError as error:
            raise SourceError(f"vllm=={release}: the wheel could not be downloaded") from error
        yield open_tree(next(Path(folder).glob("*.whl")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check every source."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, help="folders and wheels; with --download, releases")
    parser.add_argument("--download", action="store_true", help="take wheels from the package index")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    catalog = Catalog()
    total = 0
    try:
        if options.download:
            releases = [str(source) for source in options.sources] or list(catalog.releases)
            trees = (tree for release in releases for tree in downloaded(release))
        else:
            trees = (open_tree(source) for source in options.sources)
        checked = 0
        for tree in trees:
            total += verify(catalog, tree, options.samples, options.seed)
            checked += 1
    except SourceError as error:
        print(error, file=sys.stderr)
        return 2
    if not checked:
        print("nothing to verify: give sources or --download", file=sys.stderr)
        return 2
    print(f"{checked} releases, {total} differences")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
