"""Training steps of a convolution network of jax.example_libraries.stax with its own momentum optimizer."""

import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers, stax

initial, predict = stax.serial(
    stax.Conv(16, (3, 3), padding="SAME"),
    stax.Relu,
    stax.MaxPool((2, 2), strides=(2, 2)),
    stax.Flatten,
    stax.Dense(128),
    stax.Relu,
    stax.Dense(10),
    stax.LogSoftmax,
)
start, update, parameters_of = optimizers.momentum(1e-2, mass=0.9)
images = jax.random.normal(jax.random.key(0), (64, 32, 32, 3))
labels = jax.nn.one_hot(jax.random.randint(jax.random.key(1), (64,), 0, 10), 10)
_, parameters = initial(jax.random.key(2), images.shape)


def loss(parameters):
    return -jnp.mean(jnp.sum(predict(parameters, images) * labels, axis=-1))


@jax.jit
def step(number, state):
    value, gradient = jax.value_and_grad(loss)(parameters_of(state))
    return value, update(number, gradient, state)


state = start(parameters)
for number in range(3):
    value, state = step(number, state)
spread = jnp.std(predict(parameters_of(state), images), axis=0)
print(float(value), float(spread.sum()))
