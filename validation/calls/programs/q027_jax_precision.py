"""JAX: four residual layers (norm, product, gelu) on 8192 rows of 4096 features."""
import jax
import jax.numpy as jnp

ROWS, DIM, LAYERS = 8192, 4096, 4


def norm_by_hand(x):
    x32 = x.astype(jnp.float32)
    mean = x32.mean(-1, keepdims=True)
    var = ((x32 - mean) ** 2).mean(-1, keepdims=True)
    return ((x32 - mean) * jax.lax.rsqrt(var + 1e-5)).astype(x.dtype)


def norm_library(x):
    return jax.nn.standardize(x.astype(jnp.float32), axis=-1, epsilon=1e-5).astype(x.dtype)


@jax.jit
def forward_highest(x, weights):
    for w in weights:
        h = jnp.matmul(norm_by_hand(x), w, precision=jax.lax.Precision.HIGHEST)
        x = x + jax.nn.gelu(h)
    return x


@jax.jit
def forward_default(x, weights):
    for w in weights:
        product = jnp.matmul(norm_by_hand(x), w)
        x = x + jax.nn.gelu(product)
    return x


@jax.jit
def forward_standardize(x, weights):
    for w in weights:
        h = jnp.matmul(norm_library(x), w)
        x = x + jax.nn.gelu(h)
    return x


def setup():
    keys = jax.random.split(jax.random.PRNGKey(0), LAYERS + 1)
    x = jax.random.normal(keys[0], (ROWS, DIM), dtype=jnp.float32)
    weights = [jax.random.normal(k, (DIM, DIM), dtype=jnp.float32) * DIM ** -0.5 for k in keys[1:]]
    half = [w.astype(jnp.bfloat16) for w in weights]
    return {"x": x, "weights": weights, "x_half": x.astype(jnp.bfloat16), "half": half}


def highest(state):
    return forward_highest(state["x"], state["weights"])


def default(state):
    return forward_default(state["x"], state["weights"])


def half(state):
    y = forward_default(state["x_half"], state["half"])
    return y


def standardize(state):
    return forward_standardize(state["x_half"], state["half"])


VARIANTS = {"highest": highest, "default": default, "half": half, "standardize": standardize}
TOLERANCE = 3e-2
