.PHONY: demo test quick engines bench catalog-verify

demo:  ## from nothing to an attested engine
	bash tools/demo
test:  ## style, types, every test
	bash tools/test
quick:  ## the same without real engines
	bash tools/test --quick
engines:  ## the environments of the engine tests
	python3 tools/make_engine.py 0.28.0 .engines/0.28.0
	python3 tools/make_engine.py 0.32.0 .engines/0.32.0
bench:  ## decisions beside other engines, a batch, start, analysis, lint: figures of docs/performance.md
	[ -x .venv/bin/pip ] || python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	.venv/bin/python -m benchmarks.decisions
	.venv/bin/python benchmarks/batch.py
	.venv/bin/python benchmarks/start.py
	.venv/bin/python -m benchmarks.analysis
	.venv/bin/python benchmarks/lint.py .venv/bin/check-jsonschema
catalog-verify:  ## random deployments through the catalog and through vLLM's own functions; downloads wheels
	PYTHONPATH=. .venv/bin/python tools/catalog_verify.py --samples 5000 --download $(RELEASES)
