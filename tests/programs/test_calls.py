"""Calls of launches from call stacks, as PyTorch, JAX, CuPy and C++ programs leave them."""

from __future__ import annotations

import pytest

from ncuview.programs.calls import call_of, is_users, qualified_name
from ncuview.records.profile import CallStack, Frame
from ncuview.records.program import Call

SITE = "/opt/venv/lib/python3.12/site-packages/"
RUNTIME = Frame("cudaLaunchKernel", f"{SITE}torch/lib/libcudart.so.13", 0)
INTERPRETER = Frame("_PyEval_EvalFrameDefault", "/opt/venv/bin/python3", 0)


def native(*functions: str) -> tuple[Frame, ...]:
    return tuple(Frame(function, f"{SITE}torch/lib/libtorch_cpu.so", 0) for function in functions)


def test_the_innermost_frame_of_the_user_and_the_outermost_operator() -> None:
    stack = CallStack(
        (Frame("attend", "/home/me/model.py", 34), Frame("main", "/home/me/model.py", 56)),
        (
            RUNTIME,
            *native(
                "at::_ops::copy_::call(at::Tensor&, at::Tensor const&, bool)",
                "at::_ops::clone::redispatch(c10::DispatchKeySet, at::Tensor const&)",
                "at::_ops::matmul::call(at::Tensor const&, at::Tensor const&)",
            ),
            INTERPRETER,
        ),
    )
    assert call_of(stack) == Call("/home/me/model.py", 34, "attend", "matmul", callers=stack.python[1:])


@pytest.mark.parametrize(
    ("overload", "operator"),
    [
        ("add_Tensor", "add"),
        ("sub__Tensor", "sub_"),
        ("softmax_int", "softmax"),
        ("to_dtype", "to"),
        ("masked_fill_Scalar", "masked_fill"),
        ("sum_dim_IntList", "sum"),
        ("index_Tensor", "index"),
        ("where_self", "where"),
        ("std_dim", "std"),
        ("index_add_", "index_add_"),
        ("scatter_add_", "scatter_add_"),
        ("index_select", "index_select"),
        ("layer_norm", "layer_norm"),
        ("scaled_dot_product_attention", "scaled_dot_product_attention"),
    ],
)
def test_overloads_belong_to_one_operator(overload: str, operator: str) -> None:
    stack = CallStack((Frame("f", "a.py", 1),), native(f"at::_ops::{overload}::call(at::Tensor const&)"))
    found = call_of(stack)
    assert found
    assert found.operator == operator


def test_a_backward_pass_on_its_own_thread_has_a_node_and_no_line() -> None:
    functions = native(
        "at::_ops::_softmax_backward_data::call(at::Tensor const&)",
        "torch::autograd::generated::SoftmaxBackward0_apply_functional(std::vector<at::Tensor>&&)",
        "torch::autograd::generated::SoftmaxBackward0::apply(std::vector<at::Tensor>&&)",
        "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)",
    )
    assert call_of(CallStack((), functions)) == Call("", 0, "", "softmax", "SoftmaxBackward0")


def test_gradients_that_the_engine_adds_up_have_no_node() -> None:
    functions = native("at::_ops::add__Tensor::call(at::Tensor&)", "torch::autograd::Engine::evaluate_function(int)")
    assert call_of(CallStack((), functions)) == Call("", 0, "", "add_", "Engine")


def test_a_node_of_two_words() -> None:
    functions = native("torch::autograd::generated::MseLossBackward0::apply(std::vector<at::Tensor>&&)")
    found = call_of(CallStack((), functions))
    assert found
    assert found.operator == "mse_loss"


def test_the_library_function_below_the_users_line_is_named_without_wrappers() -> None:
    bert = f"{SITE}transformers/models/bert/modeling_bert.py"
    stack = CallStack(
        (
            Frame("softmax", f"{SITE}torch/nn/functional.py", 2159),
            Frame("eager_attention_forward", bert, 130),
            Frame("_call_impl", f"{SITE}torch/nn/modules/module.py", 1790),
            Frame("forward", bert, 192),
            Frame("embed", "/home/me/embed.py", 29),
        ),
        native("at::_ops::softmax_int::call(at::Tensor const&)"),
    )
    library = "transformers/models/bert/modeling_bert.py:eager_attention_forward"
    assert call_of(stack) == Call("/home/me/embed.py", 29, "embed", "softmax", "", library)


def test_an_optimizer_of_torch_is_no_wrapper() -> None:
    adam = f"{SITE}torch/optim/adam.py"
    stack = CallStack(
        (
            Frame("_single_tensor_adam", adam, 547),
            Frame("wrapper", f"{SITE}torch/optim/optimizer.py", 533),
            Frame("loop", "/home/me/t.py", 78),
        )
    )
    found = call_of(stack)
    assert found
    assert found.library == "torch/optim/adam.py:_single_tensor_adam"


def test_an_exported_function_of_a_cuda_library_is_the_operator() -> None:
    stack = CallStack(
        (Frame("project", "/home/me/p.py", 7),),
        (
            RUNTIME,
            Frame("cublasLtMatmul", "/usr/lib/libcublasLt.so.13", 0),
            Frame("cublasSgemm_v2", "/usr/lib/libcublas.so.13", 0),
        ),
    )
    found = call_of(stack)
    assert found
    assert found.operator == "cublasSgemm_v2"


def test_the_native_caller_of_a_program_without_python() -> None:
    stack = CallStack(
        (),
        (
            Frame("cudaLaunchKernel", "/home/me/solver", 0),
            Frame("void thrust::sort(int*)", "/home/me/solver", 0),
            Frame("Solver::step(float)", "/home/me/solver", 0),
            Frame("main", "/home/me/solver", 0),
            Frame("__libc_start_main", "/lib/libc.so.6", 0),
        ),
    )
    assert call_of(stack) == Call("/home/me/solver", 0, "Solver::step(float)")


@pytest.mark.parametrize(
    "inner",
    [
        "libcudart_static_da0dce49aa58ac534fd88243a391d7a78f15b8f5",
        "__device_stub__Z5scalePff(float*, float)",
        "scale(float*, float)",
        "void (anonymous namespace)::scale<float, (int)4>(float*, float)",
        "float thrust::THRUST_300001_SM_900_NS::reduce<thrust::device_ptr<float> >(thrust::device_ptr<float>)",
        "std::pair<int, float> cub::CUB_300001_SM_900::DeviceReduce::Sum<float*>(void*, unsigned long&)",
        "cuda::__4::for_each<int>(int)",
    ],
)
def test_a_static_runtime_templates_and_the_stub_of_the_kernel_are_not_the_caller(inner: str) -> None:
    """A launch of ``scale`` goes through a function of the same name, which nvcc writes into the program."""
    names = (inner, "Solver::scale_all(std::vector<float>&, int)", "main")
    stack = CallStack((), tuple(Frame(name, "/home/me/solver", 0) for name in names))
    assert call_of(stack, kernel="scale") == Call("/home/me/solver", 0, "Solver::scale_all(std::vector<float>&, int)")


@pytest.mark.parametrize("module", ["/home/me/solver", "/home/me/libsolver.so"])
def test_a_caller_whose_line_is_known_is_named_by_its_source(module: str) -> None:
    """The line is one of that file: a header's, where an inlined function stands there."""
    frames = (
        Frame("", "/usr/local/cuda/lib64/libcublas.so.13", 0),
        Frame("cublasSgemm_v2", "/usr/local/cuda/lib64/libcublas.so.13", 0),
        Frame("scale_all(int)", module, 39, "/home/me/include/scale.cuh"),
        Frame("main", "/home/me/solver", 7, "/home/me/solver.cu"),
    )
    call = call_of(CallStack((), frames))
    assert call == Call("/home/me/include/scale.cuh", 39, "scale_all(int)", "cublasSgemm_v2")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("", ""),
        ("main", "main"),
        ("Solver::step(float)", "Solver::step"),
        ("void (anonymous namespace)::scale<float, (int)4>(float*, float)", "scale"),
        ("std::pair<int, float> app::run<(app::Kind)1>(std::map<int, int>)", "app::run"),
        ("app::run(int)::{lambda(float)#1}::operator()(float) const", "app::run"),
        ("a<b(c", "a"),
    ],
)
def test_qualified_names(function: str, name: str) -> None:
    assert qualified_name(function) == name


def test_a_stack_that_shows_nothing_has_no_call() -> None:
    assert call_of(CallStack()) is None
    assert call_of(CallStack((Frame("run", f"{SITE}jax/_src/api.py", 3),), (RUNTIME, INTERPRETER))) is None


def test_whose_files_are_the_users_can_be_given() -> None:
    stack = CallStack((Frame("forward", f"{SITE}mine/model.py", 3), Frame("main", "/home/me/run.py", 9)))
    found = call_of(stack, lambda file: "/mine/" in file)
    assert found
    assert found.line == 3


@pytest.mark.parametrize(
    "file",
    [
        f"{SITE}torch/nn/functional.py",
        "/usr/lib/python3/dist-packages/cupy/_core/core.py",
        "/usr/lib/python3.12/contextlib.py",
        "<frozen importlib._bootstrap>",
        "<string>",
        "/src/pytorch/torch/_dynamo/eval_frame.py",
        "",
        "/src/pytorch/torch/nn/modules/module.py",
        "/tmp/torchinductor_me/ab/cabc.py",
        "/home/me/.triton/cache/x/launcher.py",
        "/tmp/torch_geometric.nn.conv.gcn_conv_GCNConv_propagate_fzxq7sx_.py",
        "C:\\venv\\Lib\\site-packages\\jax\\api.py",
    ],
)
def test_files_that_are_not_the_users(file: str) -> None:
    assert not is_users(file)


@pytest.mark.parametrize(
    "file", ["/home/me/train.py", "train.py", "/srv/my.model.py", "/home/me/torch/a.py", "<ipython-input-3-ab>"]
)
def test_files_of_the_user(file: str) -> None:
    assert is_users(file)


FORWARD = ("aten::linear, seq = 0, op_id = 79", "aten::addmm, seq = 1, op_id = 83")
BACKWARD = (
    "autograd::engine::evaluate_function: AddmmBackward0, op_id = 155",
    "AddmmBackward0, seq = 10, op_id = 156",
    "aten::mm, op_id = 160",
)
SUM = ("autograd::engine::evaluate_function: AddmmBackward0, op_id = 155", "aten::sum, op_id = 168")


@pytest.mark.parametrize(
    ("ranges", "operator", "node"),
    [
        (FORWARD, "linear", ""),
        (BACKWARD, "addmm", "AddmmBackward0"),
        (SUM, "addmm", "AddmmBackward0"),
        (("my range", *FORWARD), "linear", ""),
        (("my range",), "", ""),
    ],
)
def test_ranges_name_what_native_frames_name(ranges: tuple[str, ...], operator: str, node: str) -> None:
    call = call_of(CallStack((Frame("step", "/home/alice/train.py", 7),)), ranges=ranges)
    assert call is not None
    assert (call.line, call.operator, call.backward) == (7, operator, node)


def test_a_backward_pass_without_frames_is_known_by_its_ranges() -> None:
    call = call_of(CallStack(), ranges=BACKWARD)
    assert call is not None
    assert (call.file, call.operator, call.backward) == ("", "addmm", "AddmmBackward0")
    assert call_of(CallStack()) is None
