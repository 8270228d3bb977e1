"""Kernels are recognised by name and template arguments, and texts name no folders."""

from __future__ import annotations

import pytest

from ncuview.store.names import NameParts, base_name, parts_of, without_folders


@pytest.mark.parametrize(
    ("demangled", "function", "arguments"),
    [
        ("transposeNaive(float *, const float *, int)", "transposeNaive", ""),
        ("void copy<float, 4>(T1 *, const T1 *)", "copy", "<float, 4>"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0", ""),
        (
            "void cub::CUB_300::DeviceReduceKernel<Policy<int, op<int>>, float *>(T1, int)",
            "cub::CUB_300::DeviceReduceKernel",
            "<Policy<int, op<int>>, float *>",
        ),
        ("void (anonymous namespace)::softmax<float>(T1 *)", "(anonymous namespace)::softmax", "<float>"),
        ("<unnamed>::k(int)", "<unnamed>::k", ""),
        ("std::enable_if<(bool)1, void>::type at::k<3>(int)", "at::k", "<3>"),
        ("void a::B<int>::run<(int)2, (bool)0>(T1)", "a::B::run", "<int><(int)2, (bool)0>"),
        ("void k<lambda(int) -> float>(T1)", "k", "<lambda(int) -> float>"),
        ("", "", ""),
    ],
)
def test_names_have_parts(demangled: str, function: str, arguments: str) -> None:
    assert parts_of(demangled) == NameParts(function, arguments)


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("/home/ann/src/x.cu:3 reads twice", "x.cu:3 reads twice"),
        (r"see C:\Users\ann\x.cu, line 3", "see x.cu, line 3"),
        ("12 sectors/request at 1/2 of peak", "12 sectors/request at 1/2 of peak"),
        ("a <lambda at /home/ann/x.cu:3:5>", "a <lambda at x.cu:3:5>"),
        ("block 3 is damaged at byte 5", "block 3 is damaged at byte 5"),
        ("sum of a / b", "sum of a / b"),
    ],
)
def test_texts_name_no_folders(text: str, without: str) -> None:
    assert without_folders(text) == without


@pytest.mark.parametrize("path", ["/home/ann/x.cu", r"C:\Users\ann\x.cu", "x.cu", "src/x.cu"])
def test_paths_have_base_names(path: str) -> None:
    assert base_name(path) == "x.cu"
