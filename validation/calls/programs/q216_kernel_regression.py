"""Predictions of a Gaussian-kernel regression for four blocks of test points (JAX)."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp

GAMMA = 1.0 / 512.0


def setup():
    key = jax.random.PRNGKey(0)
    k1, k2, k3 = jax.random.split(key, 3)
    train = jax.random.normal(k1, (16384, 256), dtype=jnp.float32)
    blocks = jax.random.normal(k2, (4, 8192, 256), dtype=jnp.float32)
    alpha = jax.random.uniform(k3, (16384, 16), dtype=jnp.float32)
    tests = [blocks[i] for i in range(4)]
    stacked = blocks.reshape(4 * 8192, 256)
    squares_train = jnp.sum(train ** 2, axis=1)
    return SimpleNamespace(train=train, squares_train=squares_train, tests=tests, stacked=stacked, alpha=alpha)


@jax.jit
def predict_exact(test, train, alpha):
    cross = jnp.matmul(test, train.T, precision=jax.lax.Precision.HIGHEST)
    squares = jnp.sum(test ** 2, axis=1)[:, None] + jnp.sum(train ** 2, axis=1)[None, :]
    kernel = jnp.exp(-GAMMA * (squares - 2.0 * cross))
    return jnp.matmul(kernel, alpha)


@jax.jit
def predict_exact_cached(test, train, squares_train, alpha):
    product = jnp.matmul(test, train.T, precision=jax.lax.Precision.HIGHEST)
    squares = jnp.sum(test ** 2, axis=1)[:, None] + squares_train[None, :]
    kernel = jnp.exp(-GAMMA * (squares - 2.0 * product))
    return jnp.matmul(kernel, alpha)


@jax.jit
def predict(test, train, alpha):
    cross = jnp.matmul(test, train.T, precision=jax.lax.Precision.DEFAULT)
    squares = jnp.sum(test ** 2, axis=1)[:, None] + jnp.sum(train ** 2, axis=1)[None, :]
    kernel = jnp.exp(-GAMMA * (squares - 2.0 * cross))
    return jnp.matmul(kernel, alpha)


def highest(state):
    outputs = []
    for test in state.tests:
        outputs.append(predict_exact(test, state.train, state.alpha))
    return jnp.concatenate(outputs)


def highest_cached(state):
    outputs = []
    for test in state.tests:
        outputs.append(predict_exact_cached(test, state.train, state.squares_train, state.alpha))
    return jnp.concatenate(outputs)


def default(state):
    outputs = []
    for test in state.tests:
        outputs.append(predict(test, state.train, state.alpha))
    return jnp.concatenate(outputs)


def default_one_block(state):
    return predict(state.stacked, state.train, state.alpha)


VARIANTS = {
    "highest": highest,
    "highest_cached": highest_cached,
    "default": default,
    "default_one_block": default_one_block,
}
TOLERANCE = 2e-2
