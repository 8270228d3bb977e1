"""Ridge regressions of 48 groups (one per region) with JAX."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp

GROUPS = 48
ROWS = 32768
FEATURES = 96


def setup():
    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(0), 3)
    x = jax.random.normal(k1, (GROUPS, ROWS, FEATURES), dtype=jnp.float32)
    beta = jax.random.normal(k2, (GROUPS, FEATURES), dtype=jnp.float32)
    noise = 0.1 * jax.random.normal(k3, (GROUPS, ROWS), dtype=jnp.float32)
    y = jnp.einsum("grf,gf->gr", x, beta) + noise
    return SimpleNamespace(x=x, y=y)


def ridge(x, y):
    gram = x.T @ x + 10.0 * jnp.eye(FEATURES, dtype=x.dtype)
    moment = x.T @ y
    return jax.scipy.linalg.solve(gram, moment, assume_a="pos")


fit_one = jax.jit(ridge)
fit_all = jax.jit(jax.vmap(ridge))


def group_by_group(state):
    coefficients = []
    for g in range(GROUPS):
        coefficients.append(fit_one(state.x[g], state.y[g]))
    return jnp.stack(coefficients)


def vmapped(state):
    return fit_all(state.x, state.y)


VARIANTS = {"group_by_group": group_by_group, "vmapped": vmapped}
TOLERANCE = 2e-2
