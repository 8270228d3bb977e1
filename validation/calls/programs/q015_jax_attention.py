"""JAX: causal self-attention layer of a language model on 4 sequences of 4096 tokens, bfloat16."""
import jax
import jax.numpy as jnp

B, T, N, H = 4, 4096, 16, 128
D = N * H


def project(x, w):
    return (x @ w).reshape(B, T, N, H)


@jax.jit
def layer_by_hand(x, wq, wk, wv, wo):
    q = project(x, wq)
    k = project(x, wk)
    v = project(x, wv)
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) / jnp.sqrt(jnp.asarray(H, x.dtype))
    causal = jnp.tril(jnp.ones((T, T), dtype=bool))
    scores = jnp.where(causal, scores, jnp.asarray(-1e9, x.dtype))
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)
    y = jnp.einsum("bnts,bsnh->btnh", weights, v)
    return x + y.reshape(B, T, D) @ wo


@jax.jit
def layer_cudnn(x, wq, wk, wv, wo):
    q = project(x, wq)
    k = project(x, wk)
    v = project(x, wv)
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    return x + y.reshape(B, T, D) @ wo


def setup():
    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    x = jax.random.normal(keys[0], (B, T, D), dtype=jnp.bfloat16)
    weights = [jax.random.normal(k, (D, D), dtype=jnp.bfloat16) * D ** -0.5 for k in keys[1:]]
    return {"x": x, "weights": weights}


def before(state):
    wq, wk, wv, wo = state["weights"]
    y = layer_by_hand(state["x"], wq, wk, wv, wo)
    return layer_by_hand(y, wq, wk, wv, wo)


def after(state):
    wq, wk, wv, wo = state["weights"]
    y = layer_cudnn(state["x"], wq, wk, wv, wo)
    return layer_cudnn(y, wq, wk, wv, wo)


VARIANTS = {"before": before, "after": after}
TOLERANCE = 3e-2
