"""Small reports made by hand, with what identifies their maker in the same fields as in real ones."""

import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from ncuview.reader.wire import FIXED64, encode_field, encode_item, encode_report, encode_varint

HOST = b"alices-workstation"
HOME = b"/home/alice"
ADDRESS = b"10.20.30.40"
ADDRESS_6 = b"fe80::1234:5678:9abc:def0"
TOKEN = b"hf_0123456789abcdef"
PROGRAM = HOME + b"/venv/bin/python3"
WORKING_FOLDER = HOME + b"/thesis/kernels"
COMMENT = b"for the paper with bob"
CANARIES = (HOST, HOME, ADDRESS, ADDRESS_6, TOKEN, PROGRAM, WORKING_FOLDER, COMMENT, b"alice", b"thesis", b"bob")

COMMAND = b"/opt/ncu/ncu --export=%s/out.ncu-rep %s train.py --hub-token=%s" % (HOME, PROGRAM, TOKEN)
CREATED = datetime(2026, 11, 21, 9, 28, 8, tzinfo=UTC)
METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "sass__inst_executed", "inst_executed")
SOURCE = b"// needs 10.20.30.40\n__global__ void twice(float *a, float tmp) {\n  a[threadIdx.x] = a[0]/tmp;\n}\n"


def session_blocks() -> list[tuple[bytes, bytes]]:
    """The blocks that ncu writes before and between the launches: session details and no payload."""
    host = encode_field(1, b"Linux") + encode_field(5, HOST) + encode_field(6, 2)
    target = host + b"".join(
        encode_field(7, encode_field(1, address) + encode_field(2, kind))
        for kind, address in ((1, ADDRESS), (2, ADDRESS_6 + b"%eth0"))
    )
    settings = (
        encode_field(1, PROGRAM)
        + encode_field(2, WORKING_FOLDER)
        + encode_field(3, b"train.py --hub-token " + TOKEN)
        + encode_field(4, b"HOME=" + HOME)
    )
    device = encode_field(1, 0) + encode_field(2, b"NVIDIA H200")
    versions = (b"CUDA Version", b"13.0"), (b"Nsight Compute Target", b"2025.3.1.0 (build 36398880) (public-release)")
    details = [
        encode_field(2, int(CREATED.timestamp())) + encode_field(3, host),
        encode_field(6, device),
        *(encode_field(8, encode_field(1, name) + encode_field(2, version)) for name, version in versions),
        encode_field(4, target),
        encode_field(7, COMMENT),
        encode_field(9, settings),
        encode_field(11, COMMAND),
    ]
    return [block(session=session) for session in details]


def block(
    *,
    sources: Iterable[bytes] = (),
    kernels: Iterable[bytes] = (),
    session: bytes = b"",
    strings: Iterable[str] = (),
    process: bytes = encode_field(1, 3411) + encode_field(2, HOST) + encode_field(3, PROGRAM),
    more_processes: Iterable[bytes] = (),
) -> tuple[bytes, bytes]:
    """A block as ``encode_report`` takes it."""
    sources, kernels = list(sources), list(kernels)
    header = encode_field(1, len(sources)) + encode_field(2, len(kernels))
    if session:
        header += encode_field(3, session)
    header += encode_field(4, b"".join(encode_field(1, string.encode()) for string in strings))
    header += b"".join(encode_field(6, each) for each in (process, *more_processes))
    return header, b"".join(encode_item(item) for item in [*sources, *kernels])


def cubin(folder: bytes) -> bytes:
    """Something like the image of a cubin: its line table names the folder, and offsets into it matter."""
    return b"\x7fELF" + bytes(60) + b"\1" + folder + b"\0twice.cu\0" + bytes(range(256))


def source(folder: bytes = WORKING_FOLDER, text: bytes = SOURCE) -> bytes:
    """A source item: cubin and imported source file."""
    file = encode_field(1, folder + b"/twice.cu") + encode_field(2, text)
    return encode_field(4, cubin(folder)) + encode_field(8, encode_field(1, file))


def kernel(values: Mapping[str, float], strings: Iterable[str] = METRICS, name: bytes = b"twice") -> bytes:
    """A result item with these metrics, and a section that lists them."""
    places = {string: index for index, string in enumerate(strings)}
    message = encode_field(6, name)
    for metric, value in values.items():
        number = encode_varint(3 << 3 | FIXED64) + struct.pack("<d", value)
        message += encode_field(13, encode_field(1, places[metric]) + encode_field(2, number))
    return message + encode_field(17, encode_field(1, b"section0"))


def call_stacks(folder: bytes = WORKING_FOLDER) -> bytes:
    """The fields of a result item that hold its native and its Python stack."""
    call = encode_field(1, b"/opt/libcudart.so.13") + encode_field(2, 4711) + encode_field(4, b"cudaLaunchKernel")
    outer = encode_field(3, folder + b"/train.py") + encode_field(4, b"step") + encode_field(5, 12)
    return encode_field(28, encode_field(1, call) + encode_field(2, 1)) + encode_field(
        32, encode_field(1, outer) + encode_field(2, 2)
    )


def nvtx(*names: bytes, thread: int = 1015, domain: int = 0) -> bytes:
    """The fields of a result item that hold its thread and the ranges of this and another thread, outermost first."""
    ranges = b"".join(encode_field(3, encode_field(1, name) + encode_field(3, 77)) for name in names)
    elsewhere = encode_field(2, encode_field(1, 0) + encode_field(3, encode_field(1, b"elsewhere")))
    this = encode_field(2, encode_field(1, domain) + ranges)
    default = encode_field(1, encode_field(1, 0) + encode_field(2, b"<default domain>"))
    threads = encode_field(2, encode_field(1, 7) + elsewhere) + encode_field(2, encode_field(1, 1015) + this)
    return encode_field(1, thread) + encode_field(21, default + threads)


def report(launches: int = 2, folder: bytes = WORKING_FOLDER, more: bytes = b"") -> bytes:
    """A complete report; every launch has every metric, and these fields more."""
    contents = session_blocks()
    for launch in range(launches):
        values = {name: float(launch + place) for place, name in enumerate(METRICS)}
        contents.append(block(sources=[source(folder)]))
        contents.append(block(kernels=[kernel(values) + more], strings=METRICS if launch == 0 else ()))
    return encode_report(contents)
