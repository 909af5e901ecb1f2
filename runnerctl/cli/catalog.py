"""`runnerctl catalog`: what the catalog knows of vLLM's releases, and whether a real vLLM agrees."""

from __future__ import annotations

import typer

from runnerctl.cli.catalog_diff import diff
from runnerctl.cli.catalog_list import list_
from runnerctl.cli.catalog_show import show
from runnerctl.cli.catalog_verify import verify

__all__ = ["catalog"]

catalog = typer.Typer(
    help="What the engine catalog knows of each vLLM release, and whether a real vLLM agrees.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
catalog.command("list")(list_)
catalog.command()(show)
catalog.command()(diff)
catalog.command()(verify)
