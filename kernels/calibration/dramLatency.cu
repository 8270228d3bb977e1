/*--- ncuview
schema = 1
name = "dramLatency"
family = "calibration"
step_number = 10
document = "ncuview"
section = "attainable share of latency"
teaches = "One thread follows a chain of addresses that never repeats a cache line: the time of one trip to device memory."
oracle = "end_of_chain"

[sizes]
words = 33554432
steps = 4096

# ncuview: begin launch
[launch]
grid = ["1"]
block = ["1"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[words]"

[[args]]
name = "out"
kind = "out uint32[1]"

[[args]]
name = "words"
kind = "int32 = words"

[[args]]
name = "steps"
kind = "int32 = steps"

[useful]
bytes = "4 * steps"

[expect]
first = "launch_configuration"
---*/

// ncuview: begin kernel
__global__ void dramLatency(const unsigned *in, unsigned *out, int words, int steps)
{
    unsigned at = 0, low = 0;

    // The value read decides the next address, so the next load cannot start before this one ends.
    for (int s = 0; s < steps; s++) {
        low = in[at] & 1u;
        at = (at + 8191u * 32u + low) % words;
    }
    out[0] = at;
}
// ncuview: end kernel
