"""Allen-Cahn phase field with driven walls: four bursts of thirty explicit steps (JAX)."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

SIZE = 3072
INNER = 30
BURSTS = 4
DT = 0.05


def setup():
    u = 0.1 * jax.random.normal(jax.random.PRNGKey(0), (SIZE, SIZE), dtype=jnp.float32)
    wall = jnp.sin(jnp.linspace(0.0, 20.0, SIZE, dtype=jnp.float32))
    return SimpleNamespace(u=u, wall=wall, wall_host=np.asarray(wall))


def burst(u):
    def body(_, v):
        laplacian = jnp.roll(v, 1, 0) + jnp.roll(v, -1, 0) + jnp.roll(v, 1, 1) + jnp.roll(v, -1, 1) - 4.0 * v
        return v + DT * (laplacian + v - v * v * v)

    return jax.lax.fori_loop(0, INNER, body, u)


advance = jax.jit(burst)


@jax.jit
def set_walls(u, wall):
    u = u.at[0, :].set(wall)
    return u.at[-1, :].set(-wall)


@jax.jit
def run_all(u, wall):
    for _ in range(BURSTS):
        u = burst(u)
        u = u.at[0, :].set(wall)
        u = u.at[-1, :].set(-wall)
    return u


def walls_on_host(state):
    u = state.u
    for _ in range(BURSTS):
        u = advance(u)
        field = np.array(u)
        field[0, :] = state.wall_host
        field[-1, :] = -state.wall_host
        u = jnp.asarray(field)
    return u


def walls_on_device(state):
    u = state.u
    for _ in range(BURSTS):
        u = advance(u)
        u = set_walls(u, state.wall)
    return u


def one_program(state):
    return run_all(state.u, state.wall)


VARIANTS = {"walls_on_host": walls_on_host, "walls_on_device": walls_on_device, "one_program": one_program}
TOLERANCE = 1e-2
