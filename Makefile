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
bench:  ## start of whole processes, in pairs
	.venv/bin/python benchmarks/start.py
catalog-verify:  ## random deployments through the catalog and through vLLM's own functions; downloads wheels
	PYTHONPATH=. .venv/bin/python tools/catalog_verify.py --samples 5000 --download $(RELEASES)
