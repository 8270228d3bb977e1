"""A library for SASS, the machine code of NVIDIA GPUs: decoding, control flow, data flow, and what addresses depend on.

What enters is a kernel's code as text, as `ncu`, `cuobjdump` and `nvdisasm` print it; what leaves are decoded
instructions and facts about them. It knows no profile, no metric and no rule, and imports nothing but the standard
library and NumPy.
"""
