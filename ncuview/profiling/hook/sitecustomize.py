"""What ncuview adds to a Python program that it runs: ranges that name forward lines, its kernels' times, or a wait.

Python imports a ``sitecustomize`` that it finds on its path as it starts; ``ncuview.profiling.python_hook`` puts this
folder first there. The program's own ``sitecustomize`` runs as without it. This file runs in the user's Python, from
3.8 on and without ncuview, and no error in it reaches the program.

Variables:
    NCUVIEW_HOOK_NVTX: PyTorch's operators and autograd nodes become NVTX ranges.
    NCUVIEW_HOOK_TRACE: The folder that ``ncuview_kernel_trace`` writes the times of the kernels of this process into.
    NCUVIEW_HOOK_GATE: A file. Before PyTorch initialises CUDA the program waits until it is there, and ends where it
        says "leave".
    NCUVIEW_HOOK_DEBUG: Errors are named on stderr, one line each.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as a type checker sees it; typing takes time to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_WITH_KERNELS = ("torch", "cupy", "jaxlib", "numba.cuda", "pycuda.driver", "cuda.bindings", "tensorflow")
"""Packages after whose import kernels may be launched."""


def _say(error: BaseException) -> None:
    if os.environ.get("NCUVIEW_HOOK_DEBUG"):
        sys.stderr.write(f"ncuview's hook: {type(error).__name__}: {error}\n")


class _AfterImport:
    """Calls functions once, after the import of the packages that they are for."""

    def __init__(self, actions: dict[str, Callable[[], None]]) -> None:
        self._actions = actions
        self._searching = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """The spec that the other finders give, with a loader that calls the action after it."""
        if name not in self._actions or self._searching:
            return None
        self._searching = True
        try:
            from importlib.util import find_spec

            spec = find_spec(name)
        except Exception as error:
            _say(error)
            return None
        finally:
            self._searching = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        try:
            self._wrap(name, spec.loader)
        except Exception as error:
            _say(error)
        return spec

    def _wrap(self, name: str, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # the instance's attribute hides the class's method for this one import
            del loader.exec_module
            run(module)
            action = self._actions.pop(name, None)
            try:
                if action is not None:
                    action()
            except Exception as error:
                _say(error)

        loader.exec_module = exec_module


def _emit_nvtx() -> None:
    """Do what ``torch.autograd.profiler.emit_nvtx`` does, but do not initialise CUDA, which a later fork forbids.

    A profiler that the program starts itself takes the place of the ranges: PyTorch allows one for each thread. The
    ranges end before the process does: threads of a process group call what would be destroyed by then.
    """
    import atexit
    import threading

    from torch.autograd import profiler

    config = profiler.ProfilerConfig(
        profiler.ProfilerState.NVTX, False, False, False, False, False, profiler._ExperimentalConfig()
    )
    enable, disable = profiler._enable_profiler, profiler._disable_profiler
    enable(config, set())
    thread = threading.get_ident()

    def end() -> None:
        if threading.get_ident() == thread and profiler._enable_profiler is enable_of_program:
            profiler._enable_profiler = enable
            try:
                disable()
            except Exception as error:
                _say(error)

    def enable_of_program(*arguments: Any, **named: Any) -> Any:
        end()
        return enable(*arguments, **named)

    profiler._enable_profiler = enable_of_program
    atexit.register(end)


def _trace() -> None:
    sys.path.insert(0, _FOLDER)
    try:
        import ncuview_kernel_trace
    finally:
        sys.path.remove(_FOLDER)
    ncuview_kernel_trace.start(os.environ["NCUVIEW_HOOK_TRACE"])


def _wait() -> None:
    """Wait for another run of the program to end; without those who would end the wait the program ends."""
    import time

    gate, parent = os.environ["NCUVIEW_HOOK_GATE"], os.getppid()
    while not os.path.exists(gate):
        if os.getppid() != parent or not os.path.isdir(os.path.dirname(gate)):
            os._exit(1)
        time.sleep(0.02)
    with open(gate, encoding="utf-8") as file:
        if file.read() == "leave":
            os._exit(1)


def _wait_for_cuda() -> None:
    """Wait when PyTorch initialises CUDA: it launches nothing before, and most of a program's imports are done."""
    from torch import cuda

    initialise = getattr(cuda, "_lazy_init", None)
    if initialise is None:
        _wait()
        return
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torch"]
    holders: list[Any] = [each for each in modules if vars(each).get("_lazy_init") is initialise]

    def wait_and_initialise(*arguments: Any, **named: Any) -> Any:
        for each in holders:
            each._lazy_init = initialise
        _wait()
        return initialise(*arguments, **named)

    for each in holders:
        each._lazy_init = wait_and_initialise


def _install() -> None:
    actions: dict[str, Callable[[], None]] = {}
    if os.environ.get("NCUVIEW_HOOK_NVTX"):
        actions["torch"] = _emit_nvtx
    if os.environ.get("NCUVIEW_HOOK_TRACE"):
        actions.update(dict.fromkeys(_WITH_KERNELS, _trace))
    if os.environ.get("NCUVIEW_HOOK_GATE"):
        actions["torch"] = _wait_for_cuda
    if actions:
        sys.meta_path.insert(0, _AfterImport(actions))


def _of_program() -> ModuleSpec | None:
    """The program's own ``sitecustomize``, which this one hides; None where it has none."""
    from importlib.machinery import PathFinder

    sys.path[:] = [each for each in sys.path if os.path.abspath(each or os.curdir) != _FOLDER]
    return PathFinder.find_spec("sitecustomize", sys.path)


try:
    _install()
    _next = _of_program()
except Exception as _error:
    _say(_error)
    _next = None
if _next is not None and _next.loader is not None:
    from importlib.util import module_from_spec

    sys.modules["sitecustomize"] = module_from_spec(_next)
    _next.loader.exec_module(sys.modules["sitecustomize"])
