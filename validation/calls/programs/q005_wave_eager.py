"""JAX: twenty time steps of a damped wave equation on a 2048 x 2048 grid."""
import jax
import jax.numpy as jnp

DT, C, DAMP = 0.1, 1.0, 0.02


def laplacian(u):
    up = jnp.roll(u, 1, 0)
    down = jnp.roll(u, -1, 0)
    left = jnp.roll(u, 1, 1)
    right = jnp.roll(u, -1, 1)
    return up + down + left + right - 4.0 * u


def advance(u, v):
    force = C * C * laplacian(u)
    v = v + DT * (force - DAMP * v)
    u = u + DT * v
    return u, v


@jax.jit
def advance_all(u, v):
    def body(_, uv):
        return advance(uv[0], uv[1])
    return jax.lax.fori_loop(0, 20, body, (u, v))


def setup():
    key = jax.random.PRNGKey(0)
    u = jax.random.normal(key, (2048, 2048), dtype=jnp.float32)
    v = jnp.zeros((2048, 2048), dtype=jnp.float32)
    return {"u": u, "v": v}


def before(state):
    u = state["u"]
    v = state["v"]
    for _ in range(20):
        u, v = advance(u, v)
    return u, v


def after(state):
    u, v = advance_all(state["u"], state["v"])
    return u, v


VARIANTS = {"before": before, "after": after}
TOLERANCE = 1e-3
