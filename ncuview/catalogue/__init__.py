"""The kernels that ship with ncuview: kernel files, recorded profiles, reference results, and what launches them."""
