"""`python -m runnerctl`, for environments whose scripts are not on PATH."""

from runnerctl.cli.main import run

if __name__ == "__main__":
    run()
