"""One gradient step of a bf16 MLP in JAX, with the loss reported."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

WIDTH = 2048
LAYERS = 8
BATCH = 16384


def setup():
    key = jax.random.PRNGKey(0)
    weights = []
    for _ in range(LAYERS):
        key, sub = jax.random.split(key)
        w = jax.random.normal(sub, (WIDTH, WIDTH), dtype=jnp.float32) * (2.0 / WIDTH) ** 0.5
        weights.append(w.astype(jnp.bfloat16))
    key, kx, ky = jax.random.split(key, 3)
    x = jax.random.normal(kx, (BATCH, WIDTH), dtype=jnp.bfloat16)
    y = jax.random.normal(ky, (BATCH, WIDTH), dtype=jnp.bfloat16)
    return SimpleNamespace(weights=weights, x=x, y=y)


def objective(weights, x, y):
    for w in weights[:-1]:
        x = jax.nn.relu(x @ w)
    prediction = (x @ weights[-1]).astype(jnp.float32)
    return jnp.mean((prediction - y.astype(jnp.float32)) ** 2)


def descend(weights, gradients):
    return [w - 0.01 * g for w, g in zip(weights, gradients)]


def step(weights, x, y):
    loss, gradients = jax.value_and_grad(objective)(weights, x, y)
    return loss, descend(weights, gradients)


loss_only = jax.jit(objective)
gradient_only = jax.jit(jax.grad(objective))
loss_and_gradient = jax.jit(jax.value_and_grad(objective))
apply_update = jax.jit(descend)
whole_step = jax.jit(step)


def loss_then_gradient(state):
    loss = loss_only(state.weights, state.x, state.y)
    gradients = gradient_only(state.weights, state.x, state.y)
    weights = apply_update(state.weights, gradients)
    return loss, weights[0].astype(jnp.float32)


def together(state):
    loss, gradients = loss_and_gradient(state.weights, state.x, state.y)
    weights = apply_update(state.weights, gradients)
    return loss, weights[0].astype(jnp.float32)


def loss_read(state):
    value, gradients = loss_and_gradient(state.weights, state.x, state.y)
    weights = apply_update(state.weights, gradients)
    return np.asarray(value), weights[0].astype(jnp.float32)


def one_jit(state):
    loss, weights = whole_step(state.weights, state.x, state.y)
    return loss, weights[0].astype(jnp.float32)


VARIANTS = {"loss_then_gradient": loss_then_gradient, "together": together, "loss_read": loss_read, "one_jit": one_jit}
TOLERANCE = 2e-2
