"""forced.py RUNNER MODEL FOLDER: llm.py in a child whose runner is forced and attested, whatever the environment holds."""
import os, subprocess, sys
from pathlib import Path
from runnerctl.testing import guarded_environment

runner, model, folder = sys.argv[1:4]
forced = guarded_environment(runner, os.environ, Path(folder), release="0.23.0")
print(forced.report)
sys.exit(subprocess.run([sys.executable, Path(__file__).with_name("llm.py"), model], env=forced).returncode)
