"""Training steps of a small MLP in JAX."""

import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)
sizes = [512, 1024, 1024, 1024, 10]
params = [(jax.random.normal(key, (a, b)) * 0.02, jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])]


def loss_of(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    logits = x @ w + b
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))


@jax.jit
def step(params, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, x, y)
    return [(w - 0.1 * gw, b - 0.1 * gb) for (w, b), (gw, gb) in zip(params, grads)], loss


x = jax.random.normal(key, (4096, 512))
y = jnp.zeros(4096, dtype=jnp.int32)
for _ in range(20):
    params, loss = step(params, x, y)
print(float(loss))
