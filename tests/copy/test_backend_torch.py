"""Features of models on torch: parameters, modules, hooks, buffers, views of memory."""

import copy
import functools

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.state_models import assert_gives_path_and_fix, dense_model, floats, numbers, trained, twin_or_refusal
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, same_random_state, twin_of

if keras.backend.backend() != "torch":
    pytest.skip("tests of torch features; the run on torch covers them", allow_module_level=True)

import torch
from torch import nn

X, Y = floats(8, 4), floats(8, 3, seed=1)


class Holder:
    """A plain object: Keras wraps a module only if it is an attribute of a layer itself."""

    def __init__(self, held):
        self.held = held


def wrapped(module, shape=(4,)):
    """Return a functional model around one torch module."""
    was_training = module.training
    with torch.no_grad():
        output_shape = (None, *module.eval()(torch.ones(2, *shape)).shape[1:])
    module.train(was_training)
    inputs = keras.Input(shape)
    return keras.Model(inputs, layers.TorchModuleWrapper(module, output_shape=output_shape)(inputs))


# --- Parameters -------------------------------------------------------------------------------------------------------


def test_device_dtype_and_requires_grad_are_kept():
    model = dense_model(layers.Dense(3), layers.Dense(2, dtype="bfloat16"))
    model.layers[1].trainable = False
    model.layers[2].kernel.value.requires_grad_(False)
    twin = twin_of(model)

    for ours, theirs in zip(model.variables, twin.variables, strict=True):
        a, b = ours.value, theirs.value
        assert (type(a), a.device, a.dtype, a.requires_grad, a.stride()) == (
            type(b),
            b.device,
            b.dtype,
            b.requires_grad,
            b.stride(),
        )
        assert a.data_ptr() != b.data_ptr()


def test_gradients_are_not_copied():
    model = dense_model()
    model(X).sum().backward()
    twin = twin_of(model)

    assert [v.value.grad for v in twin.trainable_variables] == [None, None]
    assert all(v.value.grad is not None for v in model.trainable_variables)


def test_torch_finds_every_parameter_of_the_twin_and_none_of_the_original():
    model = dense_model(layers.Dense(5), layers.BatchNormalization(), layers.Dense(3))
    twin = twin_of(model)

    ours, theirs = dict(model.named_parameters()), dict(twin.named_parameters())
    assert list(ours) == list(theirs)
    assert not {id(p) for p in ours.values()} & {id(p) for p in theirs.values()}
    assert {id(p) for p in theirs.values()} == {id(v.value) for v in twin.variables}
    assert list(model.state_dict()) == list(twin.state_dict())


def test_torch_optimizer_trains_the_twin_alone():
    model = dense_model()
    before = outputs(model, X)[0]
    twin = twin_of(model)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    twin(X).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()

    np.testing.assert_array_equal(outputs(model, X)[0], before)
    assert not np.array_equal(outputs(twin, X)[0], before)


def test_state_dicts_load_from_original_to_twin_and_back():
    model = dense_model()
    twin = twin_of(model)
    model.layers[-1].kernel.assign(floats(4, 3, seed=5))
    twin.load_state_dict(model.state_dict())

    assert_equal_outputs(model, twin, X)


@pytest.mark.parametrize(
    "make", [dense_model, lambda: keras.Sequential([keras.Input((4,)), layers.Dense(3)], name="s")]
)
def test_original_and_named_twin_register_all_their_parameters_in_one_model(make):
    model = make()
    twin = twin_of(model, name="target")
    inputs = keras.Input((4,))
    both = keras.Model(inputs, [model(inputs), twin(inputs)])

    expected = {id(v.value) for v in (*model.variables, *twin.variables)}
    assert {id(p) for p in both.parameters()} == expected
    assert len(expected) == 4
    both(X)[1].sum().backward()
    both.zero_grad()
    assert all(p.grad is None for p in both.parameters())


def test_named_twin_in_a_subclassed_model_registers_all_parameters():
    class Both(keras.Model):
        def __init__(self, online):
            super().__init__()
            self.online = online
            self.target = ramet.clone(online, name="target")

        def call(self, x):
            return self.online(x) + self.target(x)

    model = Both(dense_model(name="online"))
    model(X)
    twin = twin_of(model)

    assert len(list(model.parameters())) == len(list(twin.parameters())) == 4
    assert_equal_outputs(model, twin, X)


def test_model_in_half_precision_or_channels_last_keeps_its_layout():
    layer = layers.Conv2D(4, 3)
    layer.build((None, 8, 8, 3))
    layer._kernel.value.data = layer._kernel.value.data.contiguous(memory_format=torch.channels_last)
    twin = twin_of(layer)

    assert twin._kernel.value.stride() == layer._kernel.value.stride()
    np.testing.assert_array_equal(*numbers((layer._kernel, twin._kernel)))


def test_modules_on_the_meta_device_stay_on_it():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
    model.probe = Holder(nn.Linear(2, 2, device="meta"))
    twin = twin_of(model)

    assert twin.probe.held.weight.is_meta
    assert twin.probe.held.weight is not model.probe.held.weight


# --- Hooks ------------------------------------------------------------------------------------------------------------


def test_forward_hooks_fire_in_the_twin_with_its_own_state():
    model = dense_model()
    seen = []
    layer = model.layers[-1]
    layer.__dict__["seen"] = seen
    layer.register_forward_hook(lambda module, args, output: seen.append(module))
    layer.register_forward_pre_hook(lambda module, args: seen.append("before"))
    twin = twin_of(model)
    twin(X)

    assert seen == []
    own = twin.layers[-1].seen
    assert own == ["before", twin.layers[-1]]


def test_hooks_with_keyword_arguments_and_always_call_are_kept():
    model = dense_model()
    layer = model.layers[-1]
    layer.__dict__["calls"] = calls = []
    layer.register_forward_pre_hook(lambda m, args, kwargs: calls.append(sorted(kwargs)), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: out * 2, with_kwargs=True, always_call=True)
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)
    assert len(twin.layers[-1].calls) == len(calls) == 1
    assert list(twin.layers[-1]._forward_hooks_with_kwargs) == list(layer._forward_hooks_with_kwargs)
    assert list(twin.layers[-1]._forward_hooks_always_called) == list(layer._forward_hooks_always_called)


def test_backward_hooks_of_a_module_fire_in_the_twin():
    module = nn.Linear(4, 3)
    module.grads = grads = []
    module.register_full_backward_hook(lambda m, inputs, outputs: grads.append(m))
    model = wrapped(module)
    twin = twin_of(model)
    twin(torch.tensor(X, requires_grad=True)).sum().backward()

    assert grads == []
    assert twin.layers[-1].module.grads == [twin.layers[-1].module]


def test_hook_can_be_removed_on_either_side():
    model = dense_model()
    handle = model.layers[-1].register_forward_hook(lambda module, args, output: output * 0)
    twin = twin_of(model)
    handle.remove()

    assert outputs(model, X)[0].any()
    assert not outputs(twin, X)[0].any()


def test_handle_kept_in_the_model_removes_the_hook_of_the_twin():
    model = dense_model()
    model.handle = model.layers[-1].register_forward_hook(lambda module, args, output: output * 0)
    twin = twin_of(model)
    twin.handle.remove()

    assert outputs(twin, X)[0].any()
    assert not outputs(model, X)[0].any()


def test_hooks_on_a_tensor_are_kept():
    model = dense_model()
    kernel = model.layers[-1].kernel.value
    kernel.register_hook(lambda grad: grad * 0)
    model.__dict__["norms"] = norms = []
    kernel.register_post_accumulate_grad_hook(lambda parameter: norms.append(float(parameter.grad.norm())))
    twin = twin_of(model)
    twin(X).sum().backward()

    assert not twin.layers[-1].kernel.value.grad.any()
    assert (twin.norms, norms) == ([0.0], [])


def test_hook_that_holds_the_model_holds_the_twin():
    model = dense_model()

    def hook(module, args, output):
        return output + model.offset

    model.offset = 1.0
    model.layers[-1].register_forward_hook(hook)
    twin = twin_of(model)
    twin.offset = 5.0

    np.testing.assert_allclose(outputs(twin, X)[0] - outputs(model, X)[0], 4.0, rtol=1e-5)


def test_hook_that_is_a_bound_method_is_bound_to_the_twin():
    class Counting(layers.Dense):
        def __init__(self, units):
            super().__init__(units)
            self.count = 0
            self.register_forward_hook(self.counted)

        def counted(self, module, args, output):
            self.count += 1

    model = dense_model(Counting(3))
    model.layers[-1].count = 0
    twin = twin_of(model)
    twin(X)

    assert (model.layers[-1].count, twin.layers[-1].count) == (0, 1)


def test_hook_that_is_a_partial_is_kept():
    def scale(factor, module, args, output):
        return output * factor

    model = dense_model()
    model.layers[-1].register_forward_hook(functools.partial(scale, 3.0))
    twin = twin_of(model)

    assert_equal_outputs(model, twin, X)


def test_hooks_on_state_dicts_are_kept():
    module = nn.Linear(4, 3)
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update({prefix + "extra": torch.ones(1)}))
    model = wrapped(module)
    twin = twin_of(model)

    assert list(twin.layers[-1].module.state_dict()) == list(module.state_dict()) == ["weight", "bias", "extra"]


# --- Wrapped modules --------------------------------------------------------------------------------------------------


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.into = nn.Linear(4, 4, bias=False)
        self.out = nn.Linear(4, 4, bias=False)
        self.out.weight = self.into.weight
        self.register_buffer("shift", torch.arange(4.0))
        self.register_buffer("scratch", torch.ones(4), persistent=False)

    def forward(self, x):
        return self.out(torch.relu(self.into(x))) + self.shift * self.scratch


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.named = nn.ModuleDict({"relu": nn.ReLU()})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(4) * 2)])
        self.shifts = nn.ParameterDict({"a": nn.Parameter(torch.ones(4))})

    def forward(self, x):
        for step in self.steps:
            x = self.named["relu"](step(x)) * self.scales[0] + self.shifts["a"]
        return x


MODULES = {
    "sequential": (lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 3)), (4,)),
    "batch_norm": (lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3)), (4,)),
    "instance_norm": (lambda: nn.InstanceNorm1d(2, track_running_stats=True), (2, 4)),
    "lstm": (Recurrent, (5, 4)),
    "tied": (Tied, (4,)),
    "lists": (Lists, (4,)),
    "conv": (lambda: nn.Conv1d(2, 3, 2), (2, 4)),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (5, 4)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), (4,)),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), (4,)),
    "orthogonal": (lambda: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)), (4,)),
}


@pytest.mark.parametrize("kind", MODULES)
def test_wrapped_module_is_exact(kind):
    make, shape = MODULES[kind]
    model = wrapped(make(), shape)
    x = floats(6, *shape)
    same_random_state()
    outputs(model, x, training=True)
    twin = twin_of(model)

    same_random_state()
    ours = outputs(model, x, training=True)[0]
    same_random_state()
    np.testing.assert_array_equal(ours, outputs(twin, x, training=True)[0])
    assert_equal_outputs(model, twin, x, training=False)
    assert list(model.state_dict()) == list(twin.state_dict())


# keras PR#23048
@pytest.mark.parametrize("kind", ["sequential", "batch_norm", "tied", "weight_norm"])
def test_wrapped_module_trains_identically_and_independently(kind):
    make, shape = MODULES[kind]
    model = wrapped(make(), shape)
    y = outputs(model, X, training=False)[0] + 1
    trained(model, X, y, optimizer="adam")
    before = outputs(model, X, training=False)[0]
    twin = twin_of(model)
    ours = fit_once(twin, X, y)

    np.testing.assert_array_equal(outputs(model, X, training=False)[0], before)
    assert fit_once(model, X, y) == ours
    assert_equal_values(model, twin)


def test_tied_parameters_of_a_module_stay_tied():
    twin = twin_of(wrapped(Tied()))

    module = twin.layers[-1].module
    assert module.into.weight is module.out.weight
    assert "scratch" in module._non_persistent_buffers_set
    assert not any(key.endswith("scratch") for key in twin.state_dict())


def test_wrapped_variable_is_the_parameter_of_the_module():
    model = wrapped(nn.Linear(4, 3))
    twin = twin_of(model)
    layer = twin.layers[-1]

    assert {id(v.value) for v in layer.trainable_variables} == {id(p) for p in layer.module.parameters()}
    layer.trainable_variables[0].assign(np.zeros((3, 4), "float32"))
    assert not layer.module.weight.any()
    assert model.layers[-1].module.weight.any()


def test_hook_on_a_parametrized_module_reaches_the_twin_and_not_the_original():
    module = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    model = wrapped(module)
    model.__dict__["seen"] = seen = []
    module.register_forward_hook(lambda module, args, output: seen.append(module))
    twin = twin_of(model)
    twin(X)

    assert seen == []
    assert twin.seen == [twin.layers[-1].module]


def test_module_that_is_a_bare_attribute_is_copied():
    model = dense_model()
    model.side = nn.Linear(4, 3)
    twin = twin_of(model)
    with torch.no_grad():
        twin.side.module.weight.zero_()

    assert model.side.module.weight.any()
    assert [n for n, _ in twin.named_parameters()] == [n for n, _ in model.named_parameters()]


def test_module_in_eval_mode_stays_in_eval_mode():
    model = wrapped(nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)).eval())
    model.layers[-1].module[0].train()
    twin = twin_of(model)

    assert [m.training for m in twin.modules()] == [m.training for m in model.modules()]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch deprecates script modules
@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
def test_scripted_or_traced_module_is_exact_or_refused_with_its_path():
    for module in (torch.jit.script(nn.Linear(4, 3)), torch.jit.trace(nn.Linear(4, 3), torch.ones(1, 4))):
        model = dense_model()
        model.scripted = Holder(module)
        twin, error = twin_or_refusal(model)
        if error is not None:
            assert_gives_path_and_fix(error, model)
            continue

        x = torch.ones(2, 4)
        assert torch.equal(twin.scripted.held(x), module(x))
        with torch.no_grad():
            twin.scripted.held.weight.zero_()
        assert module.weight.any()


@pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0:RuntimeWarning")  # torch's advice to upgrade
def test_module_behind_torch_compile_is_exact_or_refused_with_its_path():
    model = dense_model()
    model.fast = Holder(torch.compile(nn.Linear(4, 3), backend="eager"))
    twin, error = twin_or_refusal(model)
    if error is not None:
        assert_gives_path_and_fix(error, model)
        return

    x = torch.ones(2, 4)
    with torch.no_grad():
        before = model.fast.held(x).clone()
        assert torch.equal(twin.fast.held(x), before)
        twin.fast.held.weight.zero_()
        twin.fast.held.bias.zero_()
        assert not twin.fast.held(x).any()
        assert torch.equal(model.fast.held(x), before)


def test_fx_graph_module_is_exact():
    module = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    model = wrapped(module)
    twin = ramet.clone(model)  # without comparing classes: every graph module has its own

    assert type(twin.layers[-1].module).__name__ == type(module).__name__
    assert_equal_outputs(model, twin, X)
    assert twin.layers[-1].module.code == module.code
    own = twin.layers[-1].module.graph
    for node in own.nodes:
        if node.op == "output":
            node.args = (next(iter(own.nodes)),)
    twin.layers[-1].module.recompile()
    assert outputs(twin, X)[0].shape == (8, 4)
    assert outputs(model, X)[0].shape == (8, 3)
    assert twin.layers[-1].module.graph.owning_module is not module


def test_deepcopy_method_of_a_module_is_called():
    class Own(nn.Linear):
        def __deepcopy__(self, memo):
            new = Own(self.in_features, self.out_features)
            new.load_state_dict(copy.deepcopy(self.state_dict(), memo))
            new.copied = True
            return new

    model = dense_model()
    model.own = Holder(Own(4, 3))

    twin = ramet.clone(model)
    assert twin.own.held.copied
    assert torch.equal(twin.own.held.weight, model.own.held.weight)


def test_lazy_module_stays_lazy():
    model = dense_model()
    model.lazy = Holder(nn.LazyLinear(3))
    twin = ramet.clone(model)
    twin.lazy.held(torch.ones(2, 4))

    assert twin.lazy.held.weight.shape == (3, 4)
    assert isinstance(model.lazy.held.weight, nn.parameter.UninitializedParameter)


# --- Memory and generators --------------------------------------------------------------------------------------------


def test_tensors_that_share_memory_share_memory_in_the_twin():
    model = dense_model()
    whole = torch.arange(10.0)
    model.whole, model.part, model.other = whole, whole[2:6], whole.view(2, 5)[:, 1]
    twin = twin_of(model)
    twin.whole.zero_()

    assert not twin.part.any()
    assert not twin.other.any()
    assert torch.equal(model.part, torch.tensor([2.0, 3.0, 4.0, 5.0]))


def test_view_copied_before_its_base_is_still_a_view():
    model = dense_model()
    whole = torch.arange(10.0)
    model.part, model.whole = whole[2:6], whole
    twin = twin_of(model)
    twin.part.fill_(-1)

    assert twin.whole.tolist() == [0, 1, -1, -1, -1, -1, 6, 7, 8, 9]
    assert model.whole.tolist() == list(range(10))


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6.0).reshape(2, 3).t(),
        lambda: torch.ones(3).expand(4, 3),
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.eye(3).to_sparse_csr(),
        lambda: torch.tensor([1 + 2j]),
        lambda: torch.tensor([True, False]),
        lambda: torch.tensor(5),
        lambda: torch.empty(0, 3),
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
        lambda: torch.ones(3, dtype=torch.float8_e4m3fn),
    ],
    ids=["transposed", "expanded", "sparse", "csr", "complex", "bool", "scalar", "empty", "quantized", "float8"],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.filterwarnings("ignore:.*quantiz.*")  # torch is retiring its quantized tensors
def test_tensors_of_every_kind_are_copied(make):
    model = dense_model()
    model.__dict__["held"] = make()
    twin = ramet.clone(model)
    ours, theirs = model.held, twin.held

    assert ours is not theirs
    assert (ours.layout, ours.dtype, ours.shape, ours.device) == (
        theirs.layout,
        theirs.dtype,
        theirs.shape,
        theirs.device,
    )
    a, b = (
        t.dequantize() if t.is_quantized else t.to_dense() if t.layout is not torch.strided else t
        for t in (ours, theirs)
    )
    assert torch.equal(
        a.float() if a.dtype.itemsize == 1 and a.is_floating_point() else a,
        b.float() if b.dtype.itemsize == 1 and b.is_floating_point() else b,
    )


def test_tensor_that_was_computed_is_a_leaf_in_the_twin():
    model = dense_model()
    model.__dict__["last"] = model(X)
    twin = twin_of(model)

    assert twin.last.grad_fn is None
    assert torch.equal(twin.last, model.last)


def test_torch_generator_continues_identically_and_is_reseeded():
    model = dense_model()
    model.generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=model.generator)
    twin, other, again = twin_of(model), ramet.clone(model, seed=1), ramet.clone(model, seed=1)

    following = torch.rand(3, generator=model.generator)
    assert torch.equal(following, torch.rand(3, generator=twin.generator))
    assert not torch.equal(following, torch.rand(3, generator=other.generator))
    assert other.generator.initial_seed() == again.generator.initial_seed()


def test_cloning_does_not_change_the_random_state_and_grad_mode_of_torch():
    model = trained(dense_model(layers.Dropout(0.5), layers.Dense(3)), X, Y, optimizer="adam")
    before = torch.get_rng_state()
    twin_of(model)
    ramet.clone(model, seed=3)

    assert torch.equal(torch.get_rng_state(), before)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_twin_made_under_any_grad_mode_trains(mode):
    model = dense_model()
    with mode():
        twin = ramet.clone(model)
    twin(X).sum().backward()

    assert all(v.value.requires_grad and v.value.grad is not None for v in twin.trainable_variables)


def test_torch_optimizer_kept_in_the_model_follows_the_twins_parameters():
    model = dense_model()
    model.torch_optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(X).sum().backward()
    model.torch_optimizer.step()
    model.zero_grad()
    before = outputs(model, X)[0]
    twin = twin_of(model)
    twin(X).sum().backward()
    twin.torch_optimizer.step()

    np.testing.assert_array_equal(outputs(model, X)[0], before)
    held = twin.torch_optimizer.param_groups[0]["params"]
    assert {id(p) for p in held} == {id(p) for p in twin.parameters()}
    assert {id(p) for p in twin.torch_optimizer.state} == {id(p) for p in held}
    model(X).sum().backward()
    model.torch_optimizer.step()
    assert_equal_outputs(model, twin, X)


def test_twin_works_inside_a_plain_torch_module():
    class Net(nn.Module):
        def __init__(self, part):
            super().__init__()
            self.part = part

        def forward(self, x):
            return self.part(x)

    model = dense_model()
    net = Net(twin_of(model))

    assert len(list(net.parameters())) == 2
    np.testing.assert_array_equal(net(X).detach().numpy(), outputs(model, X)[0])
