import sys
from vllm import LLM, SamplingParams, TokensPrompt

if __name__ == "__main__":
    llm = LLM(model=sys.argv[1], max_model_len=2048, gpu_memory_utilization=0.08, kv_cache_memory_bytes=2 << 30, seed=0)
    parameters = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
    output = llm.generate([TokensPrompt(prompt_token_ids=[5, 6, 7])], parameters, use_tqdm=False)
    print("ANSWER", list(output[0].outputs[0].token_ids))
