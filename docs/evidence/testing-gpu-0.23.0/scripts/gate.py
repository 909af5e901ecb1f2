"""gate.py RUNNER MODEL async|sync eager|graphs: a gate in a real engine; RUNNER is v1, v2 or own (the release's choice)."""
import contextlib, json, os, sys, threading, time
from runnerctl.testing import Gate, forced_runner

runner, model, scheduling, graphs = sys.argv[1:5]
finished = {}


def steps(engine):
    while engine.has_unfinished_requests():
        for output in engine.step():
            if output.finished:
                finished[output.request_id] = len(output.outputs[0].token_ids)


if __name__ == "__main__":
    force = contextlib.nullcontext() if runner == "own" else forced_runner(runner)
    with force, Gate("target") as gate:
        from vllm import EngineArgs, SamplingParams
        from vllm.v1.engine.llm_engine import LLMEngine

        engine = LLMEngine.from_engine_args(EngineArgs(
            model=model, max_model_len=2048, gpu_memory_utilization=0.08, kv_cache_memory_bytes=2 << 30, seed=0,
            async_scheduling=scheduling == "async", enforce_eager=graphs == "eager",
        ))
        config = engine.vllm_config
        add = lambda name, n: engine.add_request(name, "w5 w6 w7", SamplingParams(max_tokens=n, temperature=0, ignore_eos=True))
        after_start = gate.report()
        add("other", 3)
        steps(engine)
        add("target", 5)
        thread = threading.Thread(target=steps, args=[engine])
        thread.start()
        first = gate.wait(timeout=60)[0]
        time.sleep(1)
        standing = "target" not in finished and thread.is_alive()
        gate.step()
        second = gate.wait(timeout=60)[0]
        gate.open()
        thread.join(60)
        print("RESULT", json.dumps(dict(
            asked=runner, used="v2" if config.use_v2_model_runner else "v1", model=os.path.basename(model),
            async_scheduling=config.scheduler_config.async_scheduling, eager=config.model_config.enforce_eager,
            warm_up_calls=sum(c.phase == "warm-up" for c in gate.calls),
            warm_up_held=sum(c.held for c in gate.calls if c.phase == "warm-up"),
            held_first=str(first), held_second=str(second), stood_still=standing, finished=finished,
        )))
        print("AFTER THE START\n" + after_start)
        print("ALL CALLS\n" + gate.report())
