"""Object code of compiled hooks on the disk."""

import pytest

pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')

from helpers.registered import registered_task
from mjgym.envs.env import Env
from mjgym_fast import compiling, machine_code, object_cache


@pytest.fixture
def compiled(monkeypatch):
    """How often LLVM is called while a walker takes a step, with a folder of caches."""

    def count(folder):
        calls = []
        parse = machine_code.llvm.parse_assembly
        with monkeypatch.context() as patch:
            patch.setattr(object_cache, "folder", lambda: folder)
            patch.setattr(
                machine_code.llvm, "parse_assembly", lambda x: calls.append(x) or parse(x)
            )
            task = registered_task("dmc/walker-walk-v0")
            compiling.compiled.cache_clear()
            step = compiling.compiled(task, "float32", None, task.varies)
            assert not isinstance(step, str)
            assert step.reasons == {}
            patch.setattr(type(task), "compiled_step", lambda *_: step)
            env = Env(task)
            env.reset(seed=0)
            seen = env.step(env.action_space.low)[0].tobytes()
        return len(calls), seen

    return count


def test_what_was_compiled_is_read_and_a_damaged_file_is_replaced(compiled, tmp_path):
    folder = tmp_path / "hooks"
    first, seen = compiled(folder)
    assert first == 5  # start, before, after, observation, and what calls them
    assert compiled(folder) == (0, seen)
    damaged = sorted(folder.iterdir(), key=lambda x: x.stat().st_size)[-1]
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert compiled(folder) == (1, seen)
    assert damaged.read_bytes() == content
    assert compiled(folder) == (0, seen)


def test_without_a_folder_everything_is_compiled(compiled, tmp_path):
    file = tmp_path / "hooks"
    file.write_text("a file")
    assert compiled(file)[0] == compiled(file)[0] == 5
    assert file.read_text() == "a file"


def test_the_oldest_files_go(monkeypatch, tmp_path):
    monkeypatch.setattr(object_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(object_cache, "MOST", 3)
    for i in range(5):
        assert object_cache.object_of(str(i), "", lambda i=i: bytes([i])) == bytes([i])
    assert len(list(tmp_path.iterdir())) == 3


def test_no_home_is_no_error(monkeypatch):
    def refuse():
        raise RuntimeError("no home")

    monkeypatch.setattr(object_cache, "folder", refuse)
    assert object_cache.object_of("text", "", lambda: b"code") == b"code"
