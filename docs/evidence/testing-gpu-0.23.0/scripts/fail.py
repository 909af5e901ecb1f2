"""fail.py RUNNER MODEL: a failure at the third forward that serves a request, and the engine's end."""
import json, os, sys, time
from runnerctl.testing import Gate, fail_at, forced_runner

runner, model = sys.argv[1:3]
if __name__ == "__main__":
    with forced_runner(runner), fail_at(3, ranks=[0]), Gate("nobody") as gate:
        from vllm import EngineArgs, SamplingParams
        from vllm.v1.engine.llm_engine import LLMEngine

        engine = LLMEngine.from_engine_args(EngineArgs(
            model=model, max_model_len=2048, gpu_memory_utilization=0.08, kv_cache_memory_bytes=2 << 30, seed=0, enforce_eager=True, async_scheduling=False,
        ))
        engine.add_request("one", "w5 w6", SamplingParams(max_tokens=8, temperature=0, ignore_eos=True))
        steps, error = 0, None
        try:
            while engine.has_unfinished_requests():
                engine.step()
                steps += 1
        except Exception as caught:
            error = caught
        pids = {c.pid for c in gate.calls}
        deadline = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{p}") for p in pids) and time.monotonic() < deadline:
            time.sleep(0.2)
        print("RESULT", json.dumps(dict(
            runner="v2" if engine.vllm_config.use_v2_model_runner else "v1", error=type(error).__name__, good_steps=steps,
            serving_calls=sum(c.phase == "serving" for c in gate.calls),
            left=[p for p in pids if os.path.exists(f"/proc/{p}")],
        )))
