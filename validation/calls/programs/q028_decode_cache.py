"""Eight decoding steps of a four-layer language model with a key/value cache, 32 sequences of 2048 tokens."""
import torch
import torch.nn.functional as F

BATCH, HEADS, HEAD, LAYERS, CONTEXT, STEPS = 32, 16, 128, 4, 2048, 8
DIM = HEADS * HEAD


def setup():
    torch.manual_seed(0)

    def weight(o, i):
        return torch.randn(o, i, device="cuda", dtype=torch.bfloat16) * i ** -0.5

    layers = [{"qkv": weight(3 * DIM, DIM), "out": weight(DIM, DIM),
               "up": weight(4 * DIM, DIM), "down": weight(DIM, 4 * DIM)} for _ in range(LAYERS)]
    keys, values, key_cache, value_cache = [], [], [], []
    for _ in range(LAYERS):
        for context, cache in ((keys, key_cache), (values, value_cache)):
            past = torch.randn(BATCH, HEADS, CONTEXT, HEAD, device="cuda", dtype=torch.bfloat16)
            full = torch.zeros(BATCH, HEADS, CONTEXT + STEPS, HEAD, device="cuda", dtype=torch.bfloat16)
            full[:, :, :CONTEXT] = past
            context.append(past)
            cache.append(full)
    x = torch.randn(BATCH, 1, DIM, device="cuda", dtype=torch.bfloat16)
    state = {"layers": layers, "keys": keys, "values": values,
             "key_cache": key_cache, "value_cache": value_cache, "x": x}

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        after(state)
        after(state)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = after(state)
    state["graph"] = graph
    state["result"] = result
    return state


def heads(x, layer):
    qkv = F.linear(F.layer_norm(x, (DIM,)), layer["qkv"])
    qkv = qkv.view(BATCH, 1, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
    return qkv[0], qkv[1], qkv[2]


def finish_layer(x, y, layer):
    x = x + F.linear(y.transpose(1, 2).reshape(BATCH, 1, DIM), layer["out"])
    h = F.linear(F.layer_norm(x, (DIM,)), layer["up"])
    return x + F.linear(F.gelu(h), layer["down"])


@torch.no_grad()
def before(state):
    keys = list(state["keys"])
    values = list(state["values"])
    x = state["x"]
    for _ in range(STEPS):
        for i, layer in enumerate(state["layers"]):
            q, k, v = heads(x, layer)
            keys[i] = torch.cat([keys[i], k], dim=2)
            values[i] = torch.cat([values[i], v], dim=2)
            y = F.scaled_dot_product_attention(q, keys[i], values[i])
            x = finish_layer(x, y, layer)
    return x


@torch.no_grad()
def after(state):
    x = state["x"]
    for step in range(STEPS):
        end = CONTEXT + step + 1
        for i, layer in enumerate(state["layers"]):
            q, k, v = heads(x, layer)
            k_cache = state["key_cache"][i]
            v_cache = state["value_cache"][i]
            k_cache[:, :, end - 1:end] = k
            v_cache[:, :, end - 1:end] = v
            y = F.scaled_dot_product_attention(q, k_cache[:, :, :end], v_cache[:, :, :end])
            x = finish_layer(x, y, layer)
    return x


def graphed(state):
    state["graph"].replay()
    return state["result"].clone()


VARIANTS = {"before": before, "after": after, "graphed": graphed}
TOLERANCE = 3e-2
