"""Log-mel features of 64 audio clips of ten seconds at 16 kHz."""
import math

import torch

CLIPS, SAMPLES, N_FFT, HOP, MELS = 64, 160_000, 1024, 256, 80


def setup():
    torch.manual_seed(0)
    audio = torch.randn(CLIPS, SAMPLES, device="cuda")
    window = torch.hann_window(N_FFT, device="cuda")
    n = torch.arange(N_FFT, device="cuda", dtype=torch.float64)
    k = torch.arange(N_FFT // 2 + 1, device="cuda", dtype=torch.float64)
    angle = 2 * math.pi * n[:, None] * k[None, :] / N_FFT
    mel = torch.rand(N_FFT // 2 + 1, MELS, device="cuda")
    return {"audio": audio, "window": window, "mel": mel,
            "cos": angle.cos().float(), "sin": -angle.sin().float()}


def log_mel(power, mel):
    return torch.log(torch.matmul(power, mel) + 1e-6)


def before(state):
    frames = state["audio"].unfold(1, N_FFT, HOP)
    frames = frames * state["window"]
    real = torch.matmul(frames, state["cos"])
    imag = torch.matmul(frames, state["sin"])
    power = real ** 2 + imag ** 2
    return log_mel(power, state["mel"])


def after(state):
    spectrum = torch.stft(state["audio"], N_FFT, hop_length=HOP, window=state["window"],
                          center=False, return_complex=True)
    spectrum = spectrum.transpose(1, 2)
    power = spectrum.real ** 2 + spectrum.imag ** 2
    return log_mel(power, state["mel"])


VARIANTS = {"before": before, "after": after}
TOLERANCE = 1e-3
