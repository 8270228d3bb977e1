"""JAX: new centroids of 4096 clusters from 500000 points of 64 features and their labels."""
import jax
import jax.numpy as jnp

POINTS, CLUSTERS, DIM = 500_000, 4096, 64


@jax.jit
def centroids_one_hot(x, labels):
    hot = jax.nn.one_hot(labels, CLUSTERS, dtype=jnp.float32)
    sums = hot.T @ x
    squares = hot.T @ (x * x)
    counts = jnp.maximum(hot.sum(0), 1.0)[:, None]
    mean = sums / counts
    return mean, squares / counts


@jax.jit
def centroids_segments(x, labels):
    sums = jax.ops.segment_sum(x, labels, num_segments=CLUSTERS)
    squares = jax.ops.segment_sum(x * x, labels, num_segments=CLUSTERS)
    counts = jnp.maximum(jnp.bincount(labels, length=CLUSTERS), 1)[:, None]
    mean = sums / counts
    return mean, squares / counts


def setup():
    keys = jax.random.split(jax.random.PRNGKey(0), 2)
    x = jax.random.normal(keys[0], (POINTS, DIM), dtype=jnp.float32) + 1.0
    labels = jax.random.randint(keys[1], (POINTS,), 0, CLUSTERS)
    return {"x": x, "labels": labels}


def before(state):
    return centroids_one_hot(state["x"], state["labels"])


def after(state):
    return centroids_segments(state["x"], state["labels"])


VARIANTS = {"before": before, "after": after}
TOLERANCE = 1e-2
