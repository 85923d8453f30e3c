"""Mutation tests of `verify`: each twin has one small change, which the right check must find at the right path."""

import copy
import dataclasses
import re
import types
from collections.abc import Callable

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._verify import verify
from tests.support.versions import KERAS
from tests.verify import models

STATIC = ("structure", "settings", "state", "identity")


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A change of a twin, the checks that must fail, and the path that the first of them must report."""

    name: str
    model: Callable
    apply: Callable
    checks: tuple[str, ...]
    path: str


MUTATIONS: list[Mutation] = []


def mutation(model, *checks, at, since=(3, 12)):
    """Register `change(twin, original)` as a mutation of a model, for versions of Keras that support it."""

    def register(change_twin):
        if since <= KERAS:
            MUTATIONS.append(Mutation(change_twin.__name__, model, change_twin, checks, at))
        return change_twin

    return register


def layer(model, path):
    for name in path.split("/"):
        model = model.get_layer(name)
    return model


def change(variable, how):
    array = np.array(keras.ops.convert_to_numpy(variable))
    variable.assign(how(array))


def last_bit(array):
    flat = array.reshape(-1)
    flat[-1] = np.nextafter(flat[-1], np.float32(np.inf))
    return flat.reshape(array.shape)


# State.


@mutation(models.net, "state", at="a/kernel")
def last_bit_of_a_weight(twin, _):
    change(layer(twin, "a").kernel, last_bit)


@mutation(models.net, "state", "outputs", "gradients", "training", "file", at="other/kernel")
def a_weight(twin, _):
    change(layer(twin, "other").kernel, lambda array: array * 1.25)


@mutation(models.net, "state", at="inner/deep/bias")
def last_bit_in_a_nested_model(twin, _):
    change(layer(twin, "inner/deep").bias, last_bit)


@mutation(models.net, "state", at="bend/inside/kernel")
def last_bit_in_a_composite_layer(twin, _):
    change(layer(twin, "bend").inside.kernel, last_bit)


@mutation(models.net, "state", at="a/bias")
def sign_of_a_zero(twin, _):
    change(layer(twin, "a").bias, np.negative)


@mutation(models.net, "state", at="bn/moving_mean")
def moving_mean(twin, _):
    change(layer(twin, "bn").moving_mean, last_bit)


@mutation(models.net, "state", at="bn/moving_variance")
def moving_variance(twin, _):
    change(layer(twin, "bn").moving_variance, last_bit)


@mutation(models.net, "state", "outputs", at="drop/seed_generator_state")
def one_random_step(twin, _):
    layer(twin, "drop").seed_generator.next()


@mutation(models.net, "state", at="optimizer/iteration")
def optimizer_iteration(twin, _):
    twin.optimizer.iterations.assign_add(1)


@mutation(models.net, "state", "training", at="optimizer/head_kernel_momentum")
def optimizer_slot(twin, _):
    slot = next(v for v in twin.optimizer.variables if "head_kernel_momentum" in v.name)
    change(slot, lambda array: array * 1.5)


@mutation(models.net, "state", "settings", "training", at="optimizer/learning_rate")
def learning_rate(twin, _):
    twin.optimizer.learning_rate = 0.02


@mutation(models.net, "state", at="metrics/loss/total")
def metric_total(twin, _):
    change(twin.metrics[0].variables[0], last_bit)


@mutation(models.net, "state", at="metrics/loss/count")
def metric_count(twin, _):
    twin.metrics[0].variables[1].assign_add(1.0)


@mutation(models.net, "state", at="net.prior")
def array_in_an_attribute(twin, _):
    twin.prior[2] += 1.0


# Earlier versions use TensorFlow's table on every backend, which verify reads on TensorFlow only.
@mutation(models.words, "state", at="lookup.vocabulary", since=(3, 13))
def vocabulary_entry(twin, _):
    other = layers.StringLookup(vocabulary=["red", "green", "blau"], name="lookup")
    twin.lookup.__dict__.update({k: v for k, v in other.__dict__.items() if "lookup_table" in k})


@mutation(models.words, "state", "settings", at="lookup.vocabulary", since=(3, 13))
def vocabulary_that_cannot_be_read(twin, _):
    twin.lookup.get_vocabulary = None


@mutation(models.words, "state", "outputs", at="gru.states[0]")
def rnn_state(twin, _):
    change(layer(twin, "gru").states[0], lambda array: array + 0.5)


@mutation(models.words, "state", at="emb/embeddings")
def embedding_row(twin, _):
    change(layer(twin, "emb").embeddings, last_bit)


@mutation(models.tuned, "state", at="optimizer/dynamic_scale")
def loss_scale(twin, _):
    twin.optimizer.dynamic_scale.assign(1024.0)


@mutation(models.tuned, "state", at="dense/lora_kernel_b")
def lora_weight(twin, _):
    change(layer(twin, "dense").lora_kernel_b, last_bit)


@mutation(models.stepping, "state", at="block_1/kernel")
def weight_of_a_subclassed_model(twin, _):
    change(twin.blocks[1].kernel, last_bit)


# Settings.


@mutation(models.net, "settings", at="head.trainable")
def trainable_flag_of_a_layer(twin, _):
    layer(twin, "head").trainable = False


@mutation(models.net, "settings", at="a.trainable")
def frozen_layer_thawed(twin, _):
    layer(twin, "a").trainable = True


@mutation(models.net, "settings", at="net.trainable")
def trainable_flag_of_the_model(twin, _):
    twin._trainable = False


@mutation(models.net, "settings", at="bend/inside.trainable")
def trainable_flag_inside_a_composite_layer(twin, _):
    layer(twin, "bend").inside.trainable = False


@mutation(models.net, "settings", "gradients", at="head/kernel.trainable")
def trainable_flag_of_a_variable(twin, _):
    layer(twin, "head").kernel.trainable = False


@mutation(models.net, "settings", "outputs", at="a.activation")
def another_activation(twin, _):
    layer(twin, "a").activation = keras.activations.gelu


@mutation(models.net, "settings", at="a.activation")
def activation_by_a_lambda(twin, _):
    layer(twin, "a").activation = lambda x: keras.activations.relu(x)  # noqa: PLW0108  # a lambda on purpose


@mutation(models.net, "settings", at="a.kernel_regularizer.config.l2")
def regularizer_factor(twin, _):
    layer(twin, "a").kernel_regularizer = keras.regularizers.L2(2e-3)


@mutation(models.net, "settings", at="head.kernel_regularizer")
def regularizer_added(twin, _):
    layer(twin, "head").kernel_regularizer = keras.regularizers.L1(0.1)


@mutation(models.net, "settings", at="head.activity_regularizer")
def activity_regularizer_added(twin, _):
    layer(twin, "head").activity_regularizer = keras.regularizers.L1(0.1)


@mutation(models.net, "settings", at="head.kernel_constraint")
def constraint_added(twin, _):
    layer(twin, "head").kernel_constraint = keras.constraints.NonNeg()


@mutation(models.net, "settings", at="head.kernel_initializer.config.seed")
def initializer_seed(twin, _):
    layer(twin, "head").kernel_initializer = keras.initializers.GlorotUniform(seed=3)


@mutation(models.net, "settings", "outputs", at="drop.rate")
def dropout_rate(twin, _):
    layer(twin, "drop").rate = 0.5


@mutation(models.net, "settings", at="drop.seed")
def seed_in_the_config(twin, _):
    layer(twin, "drop").seed = 8


@mutation(models.net, "settings", "outputs", at="bn.momentum")
def batch_norm_momentum(twin, _):
    layer(twin, "bn").momentum = 0.5


@mutation(models.net, "settings", "outputs", at="bn.epsilon")
def batch_norm_epsilon(twin, _):
    layer(twin, "bn").epsilon = 0.5


@mutation(models.net, "settings", at="head.dtype_policy")
def dtype_policy(twin, _):
    layer(twin, "head").dtype_policy = "mixed_bfloat16"


@mutation(models.net, "settings", at="head.autocast")
def autocast_flag(twin, _):
    layer(twin, "head").autocast = False


@mutation(models.net, "settings", "outputs", at="scale.function.factor")
def number_in_a_closure(twin, _):
    # Both models share the function itself, which is immutable.
    old = layer(twin, "scale").function
    new = types.FunctionType(old.__code__, old.__globals__, old.__name__, None, (types.CellType(0.75),))
    new.__qualname__ = old.__qualname__
    layer(twin, "scale").function = new


@mutation(models.net, "settings", at="a.tag")
def attribute_changed(twin, _):
    layer(twin, "a").tag = 6


@mutation(models.net, "settings", at="a.tag")
def attribute_lost(twin, _):
    del layer(twin, "a").tag


@mutation(models.net, "settings", at="net.added")
def attribute_added(twin, _):
    twin.added = "something"


@mutation(models.net, "settings", at="a.s")
def attribute_with_a_short_name(twin, _):
    layer(twin, "a").s = 1


@mutation(models.net, "settings", at="net.note.depth")
def attribute_of_an_object(twin, _):
    twin.note.depth = 4


@mutation(models.net, "settings", at="net.note.words[1]")
def item_of_a_list_in_an_object(twin, _):
    twin.note.words[1] = "deux"


@mutation(models.net, "settings", "outputs", at="bend._bend")
def private_attribute_of_a_users_layer(twin, _):
    layer(twin, "bend")._bend = 2.5


@mutation(models.net, "settings", at="head.call")
def method_patched(twin, _):
    head = layer(twin, "head")
    head.call = lambda x: layers.Dense.call(head, x)


@mutation(models.net, "settings", at="compile.loss[1]")
def compile_loss(twin, _):
    twin.loss = ["mse", "mse"]


@mutation(models.net, "settings", at="optimizer.beta_1")
def optimizer_setting(twin, _):
    twin.optimizer.beta_1 = 0.8


@mutation(models.net, "settings", at="compile.jit_compile")
def jit_compile(twin, _):
    twin.jit_compile = not twin.jit_compile


@mutation(models.net, "settings", at="compile.run_eagerly")
def run_eagerly(twin, _):
    twin.run_eagerly = not twin.run_eagerly


@mutation(models.net, "settings", at="compile.steps_per_execution")
def steps_per_execution(twin, _):
    twin.steps_per_execution = 4


@mutation(models.net, "settings", "training", at="optimizer.global_clipnorm")
def clipping(twin, _):
    twin.optimizer.global_clipnorm = 1e-3


@mutation(models.words, "settings", at="gru.stateful")
def stateful_flag(twin, _):
    layer(twin, "gru").stateful = False


@mutation(models.words, "settings", "masks", at="emb.mask_zero")
def mask_zero(twin, _):
    emb = layer(twin, "emb")
    emb.mask_zero = emb.supports_masking = False


@mutation(models.words, "settings", "masks", at="tanh.supports_masking")
def supports_masking(twin, _):
    layer(twin, "tanh").supports_masking = False


@mutation(models.tuned, "settings", "outputs", at="dense.lora_alpha")
def lora_alpha(twin, _):
    layer(twin, "dense").lora_alpha = 2


@mutation(models.tuned, "settings", at="optimizer.inner_optimizer.momentum")
def inner_optimizer_setting(twin, _):
    twin.optimizer.inner_optimizer.momentum = 0.8


@mutation(models.tuned, "settings", at="compile.optimizer.inner_optimizer.config.learning_rate.config.decay_rate")
def schedule(twin, _):
    twin.optimizer.inner_optimizer._learning_rate.decay_rate = 0.25


@mutation(models.stepping, "settings", "training", at="stepping.strength")
def python_state_of_a_subclassed_model(twin, _):
    twin.strength = 2.0


# Structure.


@mutation(models.net, "structure", "state", at="tail")
def name_of_a_layer(twin, _):
    layer(twin, "head").__dict__["name"] = "tail"


@mutation(models.net, "structure", "settings", at="net")
def name_of_the_model(twin, _):
    twin.__dict__["name"] = "other"


@mutation(models.net, "structure", at="head")
def class_of_a_layer(twin, _):
    layer(twin, "head").__class__ = models.OtherDense


@mutation(models.stepping, "structure", at="stepping")
def class_of_the_model(twin, _):
    class Stepping(models.Stepping):
        pass

    twin.__class__ = Stepping


@mutation(models.net, "structure", at="always")
def argument_of_a_call(twin, _):
    call = layer(twin, "always")._inbound_nodes[0]
    call.arguments.kwargs["training"] = False


@mutation(models.net, "structure", "outputs", at="minus")
def inputs_of_a_call_swapped(twin, _):
    call = layer(twin, "minus")._inbound_nodes[0]
    call.arguments.args[0].reverse()


@mutation(models.net, "structure", at="net")
def outputs_swapped(twin, _):
    twin._outputs_struct.reverse()


@mutation(models.words, "structure", "settings", at="ids")
def dtype_of_an_input(twin, _):
    twin.inputs[0]._dtype = "int64"
    twin.layers[0]._dtype = "int64"
    twin.layers[0].dtype_policy = "int64"


@mutation(models.words, "structure", at="ids")
def batch_size_of_an_input(twin, _):
    twin.inputs[0]._shape = (None, 5)


@mutation(models.tied, "structure", "settings", at="extra")
def optional_flag_of_an_input(twin, _):
    twin.inputs[1]._keras_history[0].optional = False


@mutation(models.tied, "structure", at="x")
def sparse_flag_of_an_input(twin, _):
    twin.inputs[0]._sparse = True


@mutation(models.words, "structure", "outputs", at="gated")
def explicit_mask_dropped(twin, _):
    call = layer(twin, "gated")._inbound_nodes[0]
    call.arguments.kwargs["mask"] = None


@mutation(models.words, "structure", at="tanh")
def mask_of_a_value_dropped(twin, _):
    layer(twin, "tanh").output._keras_mask = None


@mutation(models.net, "structure", "state", at="head/kernel")
def name_of_a_variable(twin, _):
    kernel = layer(twin, "head").kernel
    kernel._name = "core"


@mutation(models.stepping, "structure", "state", "settings", at="block_1")
def a_layer_lost(twin, _):
    twin.blocks.pop()


# Identity.


@mutation(models.net, "identity", "independence", at="head/kernel")
def variable_shared_with_the_original(twin, original):
    _put_variable(layer(twin, "head"), layer(original, "head"))


@mutation(models.net, "identity", at="metrics/loss")
def metric_shared_with_the_original(twin, original):
    twin._loss_tracker = original._loss_tracker


@mutation(models.net, "identity", at="optimizer")
def optimizer_shared_with_the_original(twin, original):
    twin.__dict__["optimizer"] = original.optimizer
    twin._tracker.unlock()


@mutation(models.net, "identity", at="net.note")
def object_shared_with_the_original(twin, original):
    twin.note = original.note


@mutation(models.net, "identity", at="net.note.words")
def list_shared_with_the_original(twin, original):
    twin.note.words = original.note.words


@mutation(models.net, "identity", at="net.prior")
def array_shared_with_the_original(twin, original):
    twin.prior = original.prior


@mutation(models.net, "identity", at="a.kernel_regularizer")
def regularizer_shared_with_the_original(twin, original):
    layer(twin, "a").kernel_regularizer = layer(original, "a").kernel_regularizer


@mutation(models.net, "identity", at="drop")
def generator_shared_with_the_original(twin, original):
    layer(twin, "drop").__dict__["seed_generator"] = layer(original, "drop").seed_generator


@mutation(models.stepping, "identity", at="first")
def layer_shared_with_the_original(twin, original):
    # Only the attribute is replaced; the tracked layer stays.
    holder = twin._modules if "first" in getattr(twin, "_modules", {}) else twin.__dict__
    holder["first"] = original.first


@mutation(models.tied, "identity", at="decoder.source_kernel")
def tied_variable_untied(twin, _):
    twin_decoder = layer(twin, "decoder")
    kernel = layer(twin, "encoder").kernel
    twin_decoder.__dict__["source_kernel"] = keras.Variable(
        kernel.numpy() if hasattr(kernel, "numpy") else kernel, name="kernel"
    )


@mutation(models.net, "identity", at="head.note")
def object_shared_inside_no_longer(twin, _):
    layer(twin, "head").note = copy.deepcopy(layer(twin, "bn").note)


@mutation(models.net, "identity", at="minus.note")
def two_objects_inside_became_one(twin, _):
    layer(twin, "minus").note = layer(twin, "bn").note


def _put_variable(into, source):
    """Replace the kernel of one layer by that of another, wherever it is stored."""
    old, new = into.kernel, source.kernel
    into.__dict__["_kernel"] = new
    stored = into._tracker.config["trainable_variables"][1]
    place = [number for number, variable in enumerate(stored) if variable is old]
    list.__setitem__(stored, place[0], new)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutation_is_found_by_the_right_check_at_the_right_path(mutation):
    original = mutation.model()
    twin = ramet.clone(original)

    mutation.apply(twin, original)
    report = verify(original, twin, only={*STATIC, *mutation.checks}, progress=False)

    failed = {check.name for check in report.failed}
    assert set(mutation.checks) <= failed, report
    assert failed <= set(mutation.checks), report
    named = [difference.path for difference in report[mutation.checks[0]].differences]
    assert any(re.match(rf"{re.escape(mutation.path)}(?![\w])", path) for path in named), str(report)


@pytest.mark.parametrize("make", [models.net, models.words, models.tied, models.tuned, models.stepping])
def test_twin_passes_before_the_mutation(make):
    report = verify(make(), ramet.clone(make()), progress=False)

    assert report.ok, str(report)
    assert {check.name for check in report if check.outcome == "not run"} <= {"training", "file"}
