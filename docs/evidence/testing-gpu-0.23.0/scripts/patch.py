"""patch.py RUNNER MODEL OUT.json: sparse patches on the live runner, verified, and which of V1's methods V2 may borrow."""
import json, os, sys
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
from runnerctl.testing import apply_sparse_weight_patches, forced_runner, forward_to_v1
from runnerctl.testing.borrowing import v1_class_of
from runnerctl.testing.patches import PatchRefused

runner, model, out = sys.argv[1:4]
if __name__ == "__main__":
    with forced_runner(runner):
        import torch
        from vllm import LLM, SamplingParams, TokensPrompt
        from vllm.distributed.weight_transfer.base import SparseWeightPatch

        llm = LLM(model=model, max_model_len=2048, gpu_memory_utilization=0.08, kv_cache_memory_bytes=2 << 30, seed=0, enforce_eager=True)
        live = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
        parameters = dict(live.get_model().named_parameters())
        draw = torch.Generator().manual_seed(7)
        patches = []
        for name in ("model.embed_tokens.weight", "model.layers.0.self_attn.qkv_proj.weight",
                     "model.layers.1.mlp.down_proj.weight", "model.norm.weight", "lm_head.weight"):
            size = parameters[name].numel()
            count = max(1, size // 20)
            indices = torch.randperm(size, generator=draw)[:count].to(torch.int32)
            values = (torch.randn(count, generator=draw) * 0.2).to(parameters[name].dtype)
            patches.append(SparseWeightPatch(name, indices, values))
        refused = {}
        for why, bad in {"int64": SparseWeightPatch("model.norm.weight", torch.tensor([0]), torch.zeros(1, dtype=torch.bfloat16)),
                         "outside": SparseWeightPatch("model.norm.weight", torch.tensor([512], dtype=torch.int32), torch.zeros(1, dtype=torch.bfloat16)),
                         "name": SparseWeightPatch("model.nope.weight", torch.tensor([0], dtype=torch.int32), torch.zeros(1, dtype=torch.bfloat16))}.items():
            try:
                apply_sparse_weight_patches(live, [patches[0], bad])
            except PatchRefused as error:
                refused[why] = str(error)
        done = apply_sparse_weight_patches(live, patches, verify=True)
        ask = lambda: [list(o.outputs[0].token_ids) for o in llm.generate([TokensPrompt(prompt_token_ids=[5, 6, 7])], SamplingParams(temperature=0, max_tokens=8, ignore_eos=True), use_tqdm=False)]
        llm.reset_prefix_cache()
        result = dict(runner=runner, module=type(live).__module__, model=os.path.basename(model), by=done.by,
                      before=done.before, after=done.after, refused=refused, answer_after=ask())
        if runner == "v2":
            lender = v1_class_of(live)
            verdicts = {}
            for name in sorted(n for n in vars(lender) if not n.startswith("_") and callable(getattr(lender, n))):
                verdict = forward_to_v1(live, name)
                verdicts[name] = dict(by=verdict.by, safe=verdict.safe, borrowed=verdict.borrowed, problems=verdict.problems)
            result["verdicts"] = verdicts
        json.dump(result, open(out, "w"), indent=1)
        changed = [n for n in done.after if done.after[n] != done.before[n]]
        print("RESULT", json.dumps(dict(runner=runner, module=result["module"], by=done.by, changed=changed, refused=list(refused))))
