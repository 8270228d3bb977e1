/*--- ncuview
schema = 1
name = "emptyKernel"
family = "calibration"
step_number = 11
document = "ncuview"
section = "attainable share of launch"
teaches = "Nothing to do: what a launch costs before it has done any work."
oracle = "untouched"

[sizes]
threads = 32

# ncuview: begin launch
[launch]
grid = ["1"]
block = ["threads"]
# ncuview: end launch

[[args]]
name = "out"
kind = "out uint32[threads]"

[useful]
bytes = "4"

[expect]
verdict = "unclear"
---*/

// ncuview: begin kernel
__global__ void emptyKernel(unsigned *out)
{
}
// ncuview: end kernel
