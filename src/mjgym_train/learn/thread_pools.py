"""Thread pools of the libraries that compute: their sizes, for learning and for a fingerprint.

A pool with more threads than idle cores spins: a product of two 128 x 128 matrices takes 38 us of
processor time on one thread of OpenBLAS, and 1,000 to 1,500 us on two if one waits for a core.
"""

import threadpoolctl
import torch


def limit(threads: int) -> None:
    torch.set_num_threads(threads)  # the MKL within PyTorch, too
    threadpoolctl.threadpool_limits(threads)


def described() -> list[str]:
    """The pools of this process, such as "openblas 0.3.31 SkylakeX: 1 thread"."""
    pools = [f"torch {torch.__version__}: {_count(torch.get_num_threads())}"]
    for pool in threadpoolctl.threadpool_info():
        words = (pool["internal_api"], pool["version"], pool.get("architecture"))
        name = " ".join(word for word in words if word)
        pools.append(f"{name}: {_count(pool['num_threads'])}")
    return pools


def _count(threads: int) -> str:
    return f"{threads} thread{'s' * (threads != 1)}"
