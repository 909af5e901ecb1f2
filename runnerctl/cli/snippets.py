"""What to paste where policies are checked: `runnerctl init --ci` and `--pre-commit` print it, docs/ci.md shows it."""

__all__ = ["GITHUB", "GITLAB", "PRE_COMMIT"]

GITHUB = """\
# .github/workflows/runner-policies.yml
name: runner policies
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - uses: OWNER/runnerctl@VERSION  # the repository that holds runnerctl, and a tag or a commit of it
        with:
          paths: configs
"""

GITLAB = """\
# .gitlab-ci.yml
runner-policies:
  image: python:3.12-slim
  variables:
    RUNNERCTL: runnerctl  # a version, a wheel or a repository, as pip takes it
  script:
    - pip install --quiet "$RUNNERCTL"
    - runnerctl fmt --check configs
    - runnerctl lint configs
    - runnerctl test configs --coverage --fail-under 100 --junit runner-policies.xml
  artifacts:
    when: always
    reports:
      junit: runner-policies.xml
"""

PRE_COMMIT = """\
# .pre-commit-config.yaml
repos:
  - repo: https://github.com/OWNER/runnerctl  # the repository that holds runnerctl
    rev: VERSION  # a tag of it
    hooks:
      - id: runnerctl-fmt
      - id: runnerctl-lint
      - id: runnerctl-test
"""
