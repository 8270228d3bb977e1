"""JAX: predictions of an ensemble of 48 small networks, mean and spread over the members (bfloat16)."""
import jax
import jax.numpy as jnp

MEMBERS, ROWS, DIM = 48, 2048, 512


def member(x, w1, b1, w2, b2):
    h = jnp.tanh(x @ w1 + b1)
    return h @ w2 + b2


@jax.jit
def predict_loop(x, w1, b1, w2, b2):
    outputs = []
    for i in range(MEMBERS):
        outputs.append(member(x, w1[i], b1[i], w2[i], b2[i]))
    y = jnp.stack(outputs).astype(jnp.float32)
    return y.mean(0), y.std(0)


@jax.jit
def predict_batched(x, w1, b1, w2, b2):
    y = jax.vmap(member, in_axes=(None, 0, 0, 0, 0))(x, w1, b1, w2, b2)
    y = y.astype(jnp.float32)
    return y.mean(0), y.std(0)


def setup():
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    x = jax.random.normal(keys[0], (ROWS, DIM), dtype=jnp.bfloat16)
    w1 = jax.random.normal(keys[1], (MEMBERS, DIM, DIM), dtype=jnp.bfloat16) * DIM ** -0.5
    w2 = jax.random.normal(keys[2], (MEMBERS, DIM, DIM), dtype=jnp.bfloat16) * DIM ** -0.5
    b1 = jnp.zeros((MEMBERS, DIM), dtype=jnp.bfloat16)
    b2 = jnp.zeros((MEMBERS, DIM), dtype=jnp.bfloat16)
    return {"x": x, "params": (w1, b1, w2, b2)}


def before(state):
    w1, b1, w2, b2 = state["params"]
    return predict_loop(state["x"], w1, b1, w2, b2)


def after(state):
    w1, b1, w2, b2 = state["params"]
    return predict_batched(state["x"], w1, b1, w2, b2)


VARIANTS = {"before": before, "after": after}
TOLERANCE = 3e-2
