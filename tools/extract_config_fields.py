"""Write `schemas/facts.schema.json` from vLLM's config classes.

    python tools/extract_config_fields.py --out schemas/facts.schema.json 0.22.0=/src/a 0.33.0=/src/b ...
    python tools/extract_config_fields.py --out schemas/facts.schema.json /src

Each folder holds one unpacked release (with `vllm/config/` in it); a folder of such folders stands for all of
them. The sources are read with `ast`, never imported, so no engine has to be installed. What cannot be read
there (derived properties, the machine, labels) is in `facts_overlay.yaml` next to this file, which wins.

A default is written only where it is a plain value and the same in every release that has the field: a
deployment that leaves such a field out surely has it. Where vLLM computes the value, or releases differ, the
schema gives none, and the field counts as unknown when it is left out.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections import ChainMap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version
from vllm_sources import FIRST_READ, Field, Known, Release, assigned, find_releases, left_to_compute, lifetime

SCHEMA_ID = "https://runnerctl.dev/schemas/v1/facts.schema.json"
OVERLAY = Path(__file__).with_name("facts_overlay.yaml")
# What speculative decoding copies from the deployment's own objects, or builds from them: their facts are
# those of the deployment itself, and the class's defaults are not theirs.
REPEATED = {"draft_parallel_config", "target_model_config", "target_parallel_config"}


# Defaults that ask vLLM to choose.
PLACEHOLDERS = (Known(None), Known("auto"))
# Objects that the command line gives whole, so that no argument of its own stands for one of their fields.
OWN_ARGUMENT = {("speculative_config",), ("kv_transfer_config",), ("ec_transfer_config",)}


def config_fields(release: Release) -> dict[tuple[str, ...], Field]:
    """Every field under `VllmConfig`, by its path."""
    found: dict[tuple[str, ...], Field] = {}
    by_arguments = left_to_compute(release)
    by_root = assigned(release, "VllmConfig")

    def walk(class_name: str, path: tuple[str, ...], above: frozenset[str]) -> None:
        by_class = assigned(release, class_name)
        for name, statement in release.fields(class_name):
            if name in REPEATED:
                continue
            described = release.describe(statement.annotation)
            default = release.default(class_name, statement.value)
            placeholder = default in PLACEHOLDERS and not described.config
            if (
                (default == Known(None) and "null" not in described.types)
                or (placeholder and ((name,) in by_class or (*path, name) in by_root))
                or (
                    len(path) == 1
                    and name in by_arguments
                    and path not in OWN_ARGUMENT
                    and default != Known(None)
                )
            ):
                default = None  # vLLM puts a computed value there before anyone reads it
            described.default = default
            found[*path, name] = described
            if described.config and described.config not in above:
                walk(described.config, (*path, name), above | {described.config})

    walk("VllmConfig", (), frozenset({"VllmConfig"}))
    return found


def merged(versions: Sequence[Field]) -> dict[str, Any]:
    """One schema for what several releases hold in the same field."""
    types = set().union(*(version.types for version in versions))
    if "number" in types:
        types.discard("integer")
    schema: dict[str, Any] = {}
    if types:
        schema["type"] = sorted(types) if len(types) > 1 else next(iter(types))
    if all(version.choices is not None for version in versions):
        choices = {repr(choice): choice for version in versions for choice in version.choices or ()}
        schema["enum"] = sorted(choices.values(), key=lambda choice: (str(type(choice)), choice))
        if "null" in types:
            schema["enum"].append(None)
    items = [version.items for version in versions if version.items and version.items.types]
    if types & {"array"} and len(items) == len(versions):
        schema["items"] = merged(items)
    default = versions[0].default
    if default is not None and all(version.default == default for version in versions):
        schema["default"] = default.value
    return schema


def object_at(root: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The schema at a path, made on the way where it is not there yet."""
    for part in path:
        root = root.setdefault("properties", {}).setdefault(part, {})
    return root


def apply_overlay(root: dict[str, Any], overlay: dict[str, dict[str, Any]]) -> None:
    """Lay the hand-written table over the extracted schema."""
    for path, given in overlay.items():
        schema = object_at(root, path.split("."))
        nullable = given.pop("nullable", False)
        for key, value in given.items():
            if value is None:
                schema.pop(key, None)
            else:
                schema[key] = value
        if nullable:
            schema["default"] = None
            kinds = schema.get("type", [])
            schema["type"] = sorted({*(kinds if isinstance(kinds, list) else [kinds]), "null"})
            if "enum" in schema and None not in schema["enum"]:
                schema["enum"].append(None)


def close(schema: dict[str, Any]) -> None:
    """Let objects with known fields have no others."""
    for child in schema.get("properties", {}).values():
        close(child)
    if schema.get("properties"):
        schema.setdefault("additionalProperties", False)


def build(releases: Sequence[Release], overlay: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The whole schema."""
    versions = [release.version for release in releases]
    by_release = {release.version: config_fields(release) for release in releases}
    root: dict[str, Any] = {}
    for path in sorted(ChainMap(*by_release.values())):
        holding = {version: fields[path] for version, fields in by_release.items() if path in fields}
        if not all(by_release[v][path[:i]].config for v in holding for i in range(1, len(path))):
            continue
        if len(path) > 1 and not closed_everywhere(by_release, path[:-1]):
            continue
        schema = object_at(root, path)
        schema.update(merged(list(holding.values())))
        if period := lifetime(list(holding), versions):
            schema["x-vllm"] = period
    apply_overlay(root, overlay)
    model = root["properties"]["model_config"]
    draft = object_at(root, ("speculative_config", "draft_model_config"))
    draft.update(copy.deepcopy(model), description="The model that drafts.")
    close(root)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Facts of one vLLM deployment",
        "description": "What is known of one deployment, under vLLM's own names. A field that is left out "
        "has its default here; one without a default is unknown.",
        "type": "object",
        **root,
    }


def closed_everywhere(by_release: dict[Version, dict[tuple[str, ...], Field]], path: tuple[str, ...]) -> bool:
    """Whether an object's fields are known in all releases; one where they are not opens it for all."""
    return all(fields[path].config for fields in by_release.values() if path in fields)


def main() -> int:
    """Read the releases, write the schema."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("releases", nargs="+", metavar="RELEASE=DIR", help="a release, or a folder of them")
    parser.add_argument("--out", type=Path, required=True, help="the schema to write")
    options = parser.parse_args()
    releases = find_releases(options.releases)
    if not releases:
        print(f"no release from {FIRST_READ} on in {' '.join(options.releases)}", file=sys.stderr)
        return 2
    schema = build(releases, yaml.safe_load(OVERLAY.read_text(encoding="utf-8")))
    options.out.write_text(json.dumps(schema, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
