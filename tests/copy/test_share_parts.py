"""What is shared is shared whole: its layers and variables too, on whichever way the twin comes to them."""

import keras
import numpy as np
from keras import layers

import ramet


def _judge():
    return keras.Sequential([keras.Input((3,)), layers.Dense(2, name="eye")], name="judge")


def test_a_twin_trains_the_part_that_it_shares():
    judge = _judge()
    inputs = keras.Input((4,))
    model = keras.Model(inputs, judge(layers.Dense(3)(inputs)))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    twin = ramet.clone(model, share=[judge])
    before = judge.get_weights()

    twin.fit(np.ones((2, 4)), np.zeros((2, 2)), verbose=0)

    assert not np.array_equal(before[0], judge.get_weights()[0])
    assert twin.optimizer._trainable_variables_indices.keys() & model.optimizer._trainable_variables_indices.keys()


def test_a_layer_of_it_that_is_also_held_elsewhere():
    class Net(keras.Model):
        def __init__(self, judge):
            super().__init__()
            self.eye = judge.get_layer("eye")
            self.judge = judge

        def call(self, x):
            return self.judge(x)

    judge = _judge()
    net = Net(judge)
    net(np.ones((1, 3)))

    twin = ramet.clone(net, share=[judge])

    assert twin.judge is judge
    assert twin.eye is judge.get_layer("eye")


def test_a_shared_whole_does_not_give_away_what_is_cloned():
    generator = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    gan = keras.Sequential([generator, layers.Dense(1)])
    gan(np.ones((1, 3)))
    generator.trainer = gan

    twin = ramet.clone(generator, share=[gan])

    assert twin is not generator
    assert twin.trainer is gan
    assert twin.layers[0] is not generator.layers[0]
