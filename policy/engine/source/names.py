"""The architectures and environment variables that a vLLM release registers, read with `ast`.

For an architecture that the model registry names there is the registry's group, the class, and what the class
is, each only where it holds:

- `is_hybrid`, `has_inner_state`, `is_attention_free`, `is_multimodal`, `is_pooling`, `is_text_generation`: what
  the class has through its own body or its bases, as vLLM's `_ModelInfo` asks it;
- `reads_experts`, `reads_cross_attention`, `reads_canvas`: the code of the class, or of what it is built from,
  has to do with experts, cross attention or a diffusion canvas. Where it has not, a `config.json` without such
  keys is a plain dense decoder; where it has, the config class may have defaults that nobody wrote down;
- `builds_registered_model`: its language model is another registered class, which its configuration chooses.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator
from typing import Any

from policy.engine.source.modules import Sources, words_in
from policy.engine.source.tree import ENVS, SourceError, Tree

__all__ = ["environment_variables", "names_text", "registered_classes"]

MODELS = "vllm.model_executor.models"
# The registry's dictionaries that are not models of this release.
NOT_MODELS = {"_VLLM_MODELS", "_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS"}
# Class attributes that vLLM asks for, and what we call them.
FLAGS = {
    "is_hybrid": "is_hybrid",
    "has_inner_state": "has_inner_state",
    "is_attention_free": "is_attention_free",
    "supports_multimodal": "is_multimodal",
    "is_pooling_model": "is_pooling",
}
# Identifiers in the code of a model that say what it reads of its configuration.
MARKS = {
    "reads_experts": ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "FusedMoE"),
    "reads_cross_attention": ("CrossAttention", "ENCODER_DECODER", "is_encoder_decoder"),
    "reads_canvas": ("canvas_length",),
    "builds_registered_model": ("init_vllm_registered_model",),
}


def registry_groups(sources: Sources) -> dict[str, dict[str, tuple[str, str]]]:
    """Each dictionary of the registry: group name -> architecture -> (module, class)."""
    tables: dict[str, dict[str, tuple[str, str]]] = {}
    for statement in sources.module(f"{MODELS}.registry").body:
        target, value = assignment(statement)
        if target is None or not target.endswith("_MODELS") or target in NOT_MODELS:
            continue
        if isinstance(value, ast.Dict):
            tables[target] = dict(table_entries(value, tables))
    return tables


def assignment(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """The plain name that a statement assigns, and its value."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id, statement.value
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return None, None


def table_entries(
    table: ast.Dict, tables: dict[str, dict[str, tuple[str, str]]]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The entries of a registry dictionary, `**{... for ... in OTHER.items() if arch == "Name"}` written out."""
    for key, value in zip(table.keys, table.values, strict=True):
        if key is not None:
            module, name = ast.literal_eval(value)
            yield ast.literal_eval(key), (module, name)
        elif isinstance(value, ast.DictComp):
            loop = value.generators[0]
            wanted = {n.value for test in loop.ifs for n in ast.walk(test) if isinstance(n, ast.Constant)}
            other = next(n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name))
            yield from ((arch, entry) for arch, entry in tables[other].items() if entry[1] in wanted)
        else:
            raise ValueError(f"line {table.lineno}: {ast.unparse(value)} is not understood")


def describe(sources: Sources, module: str, name: str) -> dict[str, Any]:
    """What a registered class is. Raises `LookupError` when the release does not define it."""
    full = module if module.startswith("vllm.") else f"{MODELS}.{module}"
    found = sources.resolve(full, name)
    if found is None:
        raise LookupError(f"{full}:{name} is not defined")
    described: dict[str, Any] = {"class": f"{module}:{name}"}
    for attribute, key in FLAGS.items():
        if sources.attribute(found, attribute):
            described[key] = True
    if sources.attribute(found, "compute_logits"):
        described["is_text_generation"] = True
    marked = set().union(*(marks_in(definition.node) for definition in sources.reachable(found)))
    described |= {key: True for key in MARKS if key in marked}
    return described


@functools.cache
def marks_in(node: ast.AST) -> frozenset[str]:
    """The keys of `MARKS` that a piece of code has an identifier of."""
    words = words_in(node)
    return frozenset(
        key for key, marks in MARKS.items() if any(mark in word for mark in marks for word in words)
    )


def architectures(sources: Sources) -> dict[str, dict[str, Any]]:
    """Every architecture of the release; where two groups name one, the first is its category.

    The registry's later entry counts for the class; the groups that repeat an architecture repeat its class.
    """
    found: dict[str, dict[str, Any]] = {}
    for table, entries in registry_groups(sources).items():
        category = table.strip("_").removesuffix("_MODELS").lower()
        for name, (module, class_name) in entries.items():
            first = found.get(name, {}).get("category", category)
            found[name] = {"category": first, **describe(sources, module, class_name)}
    return dict(sorted(found.items()))


def environment_variables(tree: Tree) -> dict[str, str | None]:
    """The names in `environment_variables`, with the type that `envs.py` declares (None where it declares none)."""
    module = tree.parse(ENVS)
    types: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            types.setdefault(node.target.id, short_type(node.annotation))
    for statement in module.body:
        target, value = assignment(statement)
        if target == "environment_variables" and isinstance(value, ast.Dict):
            names = [ast.literal_eval(key) for key in value.keys if key is not None]
            return {name: types.get(name) for name in sorted(names)}
    raise SourceError(f"{tree.name}: {ENVS} has no `environment_variables`")


def short_type(annotation: ast.expr) -> str:
    """`bool | None` as `bool|null`, `Literal["a", "b"]` as `a|b`, `Optional[X]` as `X|null`, `list[str]` as it is."""
    if isinstance(annotation, ast.BinOp):
        return f"{short_type(annotation.left)}|{short_type(annotation.right)}"
    if isinstance(annotation, ast.Constant):
        return (
            "null"
            if annotation.value is None
            else short_type(ast.parse(str(annotation.value), mode="eval").body)
        )
    if isinstance(annotation, ast.Subscript):
        head = ast.unparse(annotation.value).rpartition(".")[2]
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if head == "Literal":
            values = (ast.literal_eval(part) for part in inner)
            return "|".join("null" if value is None else str(value) for value in values)
        if head == "Optional":
            return f"{short_type(inner[0])}|null"
    return ast.unparse(annotation)


def registered_classes(tree: Tree) -> dict[str, str]:
    """`module:Class` of every registered architecture. Raises `SourceError` when there is no registry to read."""
    try:
        groups = registry_groups(Sources(tree))
    except (LookupError, ValueError, StopIteration) as error:
        raise SourceError(f"{tree.name}: the model registry cannot be read: {error}") from error
    return {
        name: f"{module}:{class_name}"
        for entries in groups.values()
        for name, (module, class_name) in sorted(entries.items())
    }


def names_text(release: str, tree: Tree) -> str:
    """The content of `names/<release>.json`, one architecture or variable a line."""
    sources = Sources(tree)
    sections: dict[str, dict[str, Any]] = {
        "architectures": architectures(sources),
        "environment_variables": environment_variables(tree),
    }
    lines = ["{", f'"release": {json.dumps(release)}']
    for section, entries in sections.items():
        lines[-1] += ","
        lines.append(f'"{section}": {{')
        lines += [f"{json.dumps(name)}: {json.dumps(entry)}," for name, entry in entries.items()]
        lines[-1] = lines[-1].removesuffix(",")
        lines.append("}")
    return "\n".join([*lines, "}"]) + "\n"
