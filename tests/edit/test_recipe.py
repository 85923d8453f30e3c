"""Recipes: what is read from a text, where its errors are, and how edits are written."""

import inspect
import pickle

import keras
import pytest
from hypothesis import given

from ramet import Recipe, anything, edits, named, of_class, read_recipe, where
from ramet import edits as e
from ramet._edit import recipe_values
from ramet._edit.layer_config import LayerConfig
from ramet._edit.recipe_file import RecipeLocation
from ramet.errors import RecipeError
from tests.edit.recipe_strategies import documents

pytestmark = pytest.mark.no_backend

SLIM = """\
# slim.toml
[[edit]]
replace = "of_class('ReLU')"
layer = { class_name = "Activation", config = { activation = "gelu" } }

[[edit]]
insert_after = "of_class('Dense') & ~named('logits')"
layer.class_name = "Dropout"
layer.config.rate = 0.1

[[edit]]
remove = "*/dropout*"
required = false

[[edit]]
swap_head = { classes = 10 }

[[edit]]
update = "drop*"
rate = 0.3
"""


def layer(class_name, **config):
    return LayerConfig.from_table({"class_name": class_name, "config": config})


def error_of(text):
    with pytest.raises(RecipeError) as caught:
        read_recipe(text)
    return caught.value


def test_recipe_equals_the_same_edits_in_python():
    recipe = read_recipe(SLIM)

    assert recipe.edits == (
        e.replace(of_class("ReLU"), layer("Activation", activation="gelu")),
        e.insert_after(of_class("Dense") & ~named("logits"), layer("Dropout", rate=0.1)),
        e.remove("*/dropout*", required=False),
        e.swap_head(10),
        e.update("drop*", rate=0.3),
    )
    assert len(recipe) == 5
    assert [edit.where for edit in recipe] == [f"edit {number} in the recipe" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ('freeze = "encoder/*"', e.freeze("encoder/*")),
        ("freeze = true", e.freeze()),
        ("freeze = {}", e.freeze()),
        ('freeze = { selector = "a" }', e.freeze("a")),
        ('freeze = ["a*", "of_class(\'Dense\')"]', e.freeze([named("a*"), of_class("Dense")])),
        ("fold_batchnorm = true", e.fold_batchnorm()),
        ('prefix = "enc_"', e.prefix("enc_")),
        ('prefix = "enc_"\nselector = "block*"', e.prefix("enc_", "block*")),
        ('cast = "mixed_bfloat16"', e.cast("mixed_bfloat16")),
        ('cast = "float16"\nselector = "a"', e.cast("float16", "a")),
        ('resize_input = [64, "any", 4]\nweights = "mean"', e.resize_input((64, None, 4), weights="mean")),
        (
            'swap_head = 10\nhead = "logits"\nactivation = "softmax"',
            e.swap_head(10, head="logits", activation="softmax"),
        ),
        ('rename = "a"\nname = "b"', e.rename("a", "b")),
        ('remove = "a"\ncalls = [1, "a#2"]\nkeep = 0', e.remove("a", calls=(1, "a#2"), keep=0)),
        ('splice = "a"\nbefore = "b"\nlayer = { class_name = "ReLU" }', e.splice("a", "b", layer("ReLU"))),
        ('update = { selector = "a", rate = 0.1, prefix = 1 }', e.update("a", rate=0.1, prefix=1)),
        ('update = "a"\nrank = "high"\nmode = "fast"\nseed = "x"', e.update("a", rank="high", mode="fast", seed="x")),
        ("quantize = true", e.quantize()),
        ('swap_head = 3\nhead = "anything()"', e.swap_head(3, head=anything())),
        ('quantize = "of_class(\'Dense\')"\nmode = "int4"', e.quantize(of_class("Dense"), "int4")),
        ('lora = "attention*/query"', e.lora("attention*/query")),
        (
            'lora = "a"\nrank = 8\nalpha = 2.5\nfreeze_rest = false\nseed = 3\nrequired = false',
            e.lora("a", 8, alpha=2.5, freeze_rest=False, seed=3, required=False),
        ),
    ],
)
def test_edit_is_read_and_written(text, edit):
    recipe = read_recipe(f"[[edit]]\n{text}\n")

    assert recipe.edits == (edit,)
    assert read_recipe(recipe.to_toml()) == recipe


def test_recipe_prints_its_name_and_edits():
    text = 'name = "slim"\n[[edit]]\nremove = "drop*"\n[[edit]]\nflatten = true\n'

    assert str(read_recipe(text)) == "Recipe 'slim': 2 edits\n  1. remove(named('drop*'))\n  2. flatten()"


def test_every_argument_of_every_edit_has_a_reader():
    plain = {"Any", "LayerSource"}  # any plain value, and the description of a layer
    for kind in edits.__all__:
        for name, parameter in inspect.signature(getattr(edits, kind)).parameters.items():
            annotation = parameter.annotation.removesuffix(" | None")
            assert annotation in {*recipe_values._READERS, *plain}, f"recipes cannot read '{name}' of '{kind}'"


@pytest.mark.parametrize(
    "policy", ["int8_from_float32", "int4_from_bfloat16", "int4/32_from_float32", "int8", "gptq/4/128"]
)
def test_quantized_policy_is_refused_by_cast(policy):
    error = error_of(f'[[edit]]\ncast = "{policy}"\n')

    assert error.path == "edit 1, key 'cast' in the recipe"
    assert error.fix == f'write quantize = "anything()" and mode = "{policy[:4]}" instead.'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('quantize = "a"\nmode = "int7"', "key 'mode' in the recipe: invalid value"),
        ('quantize = "a"\nmode = "gptq"', "needs calibration data"),
        ('lora = "a"\nrank = 2.5', "key 'rank' in the recipe: invalid value"),
        ('lora = "a"\nalpha = "2"', "key 'alpha' in the recipe: invalid value"),
        ('lora = "a"\nfreeze_rest = 1', "key 'freeze_rest' in the recipe: invalid value"),
    ],
)
def test_invalid_arguments_of_quantize_and_lora_are_refused(text, words):
    assert words in error_of(f"[[edit]]\n{text}\n").summary


@pytest.mark.parametrize(
    ("text", "location", "reason", "closest"),
    [
        ('[[edit]]\nreplac = "x"', "edit 1, key 'replac'", "there is no edit with this name", "replace"),
        (
            '[[edit]]\nremove = "x"\nkeeep = 3',
            "edit 1, key 'keeep'",
            "the edit 'remove' has no argument 'keeep'",
            "keep",
        ),
        (
            '[[edit]]\nflatten = true\n[[edit]]\nremove = { selector = "x", keeep = 3 }',
            "edit 2, key 'remove.keeep'",
            "the edit 'remove' has no argument 'keeep'",
            "keep",
        ),
        ('[[edit]]\nreplace = "x"', "edit 1", "the edit 'replace' needs the argument 'layer'", None),
        ('[[edit]]\nremove = "x"\nrequired = "yes"', "edit 1, key 'required'", "invalid value", None),
        ("[[edit]]\nremove = 3", "edit 1, key 'remove'", "invalid value", None),
        ("[[edit]]\nswap_head = 1.5", "edit 1, key 'swap_head'", "invalid value", None),
        ("[[edit]]\nresize_input = [1, true]", "edit 1, key 'resize_input'", "invalid value", None),
        ('[[edit]]\nswap_head = 3\nweights = "slic"', "edit 1, key 'weights'", "invalid value", "slice"),
        ('[[edit]]\ncast = "mixed_bfloat61"', "edit 1, key 'cast'", "invalid value", "mixed_bfloat16"),
        (
            "[[edit]]\nremove = \"of_class('A') & of_clas('B')\"",
            "edit 1, key 'remove'",
            "unknown selector 'of_clas' (character 17 of the selector)",
            "of_class",
        ),
        (
            "[[edit]]\nremove = [\n  'a', # the first\n  '''\nof_class('A') &\n  where('B')''',\n]",
            "edit 1, key 'remove[1]'",
            "'where' takes a function, but recipes do not run code (character 19 of the selector)",
            None,
        ),
        ('[[edit]]\nremove = "a"\nflatten = true', "edit 1", "it is both 'remove' and 'flatten'", None),
        ('[[edit]]\nremove = "a"\n[[edit]]\n', "edit 2", "the edit is empty", None),
        ("[[edit]]\nfreeze = false", "edit 1, key 'freeze'", "it is false", None),
        ("[[edit]]\nremove = true", "edit 1, key 'remove'", "it is true", None),
        ("edits = 3\n[[edit]]\nremove = 'a'", "key 'edits'", "unknown key", "edit"),
        ("[[edits]]\nremove = 'a'", "key 'edits'", "unknown key", "edit"),
        ("[edit]\nremove = 'a'\n", "key 'edit'", "it is not a list of tables", None),
        ("name = 3\n[[edit]]\nflatten = true", "key 'name'", "it is not a string", None),
        ("[[edit]]\nupdate = 'a'\nrate = 2020-01-01", "edit 1, key 'rate'", "invalid value", None),
        (
            "[[edit]]\r\nremove = 'a'\r\nkeeep = 1\r\n",
            "edit 1, key 'keeep'",
            "the edit 'remove' has no argument 'keeep'",
            "keep",
        ),
        (
            "[[edit]]\nreplace = 'a'\nlayer = { class_name = 'Dropout', rate = 0.1 }",
            "edit 1, key 'layer.rate'",
            "unknown key of a layer",
            None,
        ),
        ("[[edit]]\nreplace = 'a'\nlayer = 'ReLU'", "edit 1, key 'layer'", "invalid value", None),
        ("[[edit]]\nreplace = 'a'\nlayer = {}", "edit 1, key 'layer'", "the layer has no class_name", None),
    ],
)
def test_error_names_the_edit_and_the_key(text, location, reason, closest):
    error = error_of(text)

    assert error.summary == f"Cannot read {location} in the recipe: {reason}."
    assert error.path == f"{location} in the recipe"
    assert (error.line, error.column) == (None, None)
    if closest is not None:
        assert error.closest == (closest,)


def test_error_about_a_value_shows_what_was_expected_and_found():
    error = error_of('[[edit]]\nswap_head = 3\nweights = "slic"')

    assert str(error) == (
        "Cannot read edit 1, key 'weights' in the recipe: invalid value.\n"
        "  expected: 'refuse', 'slice', 'pad', 'mean', 'repeat', 'fresh'\n"
        "  found:    the string 'slic'\n"
        "  closest:  'slice'"
    )


def test_invalid_toml_is_located():
    assert str(error_of("name = slim\n")) == (
        "Cannot read recipe:1:8: invalid TOML (Invalid value).\n"
        "  fix: correct the syntax: strings need quotes, and each edit begins with [[edit]]."
    )


def test_unknown_key_at_the_top_is_explained():
    assert str(error_of("edits = 3\n")) == (
        "Cannot read key 'edits' in the recipe: unknown key.\n"
        "  expected: 'name', and one [[edit]] for each edit\n"
        "  closest:  'edit'\n"
        "  fix: write each edit as a table of its own, below a line [[edit]]."
    )


@given(documents())
def test_any_toml_is_read_or_refused(text):
    read = True
    try:
        read_recipe(f"{text}\n")
    except RecipeError as error:
        read = error.path is not None

    assert read


def test_location_prints_file_edit_and_keys():
    top = RecipeLocation("slim.toml")

    assert str(top) == "slim.toml"
    assert str(top.at("name")) == "key 'name' in slim.toml"
    assert str(RecipeLocation("slim.toml", 2)) == "edit 2 in slim.toml"
    assert (
        str(RecipeLocation("slim.toml", 2, ("layer", "config", "x", 0)))
        == "edit 2, key 'layer.config.x[0]' in slim.toml"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[[edit]]\nfreeze = 'a\n", (2, 12)),
        ("[[edit]]\nfreeze = 'a'\nfreeze = 'b'\n", (3, 13)),
        ("[[edit]]\nfreeze =", (2, 9)),
    ],
)
def test_syntax_error_gives_line_and_column(text, place):
    error = error_of(text)

    assert error.summary.startswith(f"Cannot read recipe:{place[0]}:{place[1]}: invalid TOML (")
    assert (error.line, error.column) == place


@pytest.mark.parametrize(
    ("table", "keys", "reason"),
    [
        (
            "{ class_name = 'Lambda', config = { function = { class_name = '__lambda__', config = {} } } }",
            ".config.function.class_name",
            "compiled Python code",
        ),
        ("{ class_name = 'Popen', module = 'subprocess' }", ".class_name", "the class subprocess.Popen"),
        ("{ class_name = 'X', module = 'os', registered_name = 'X' }", ".class_name", "the class os.X"),
        ("{ class_name = 'X', module = 'my_layers' }", ".module", "recipes do not import modules such as 'my_layers'"),
        (
            "{ class_name = 'X', config = {}, module = 'keras_hub', registered_name = 'a>X' }",
            ".module",
            "such as 'keras_hub'",
        ),
        ("{ class_name = 'JaxLayer', registered_name = 'a>b' }", ".class_name", "made of Python functions"),
        ("{ class_name = 'get_file', module = 'keras.utils' }", ".class_name", "keras.utils.get_file, which is no"),
        (
            "{ class_name = 'TFSMLayer', config = { filepath = '/x' } }",
            ".class_name",
            "loads the TensorFlow SavedModel",
        ),
        ("{ class_name = 'TorchModuleWrapper' }", ".class_name", "pickled"),
        (
            "{ class_name = 'A', config = { x = [1, { class_name = 'y', module = 'os' }] } }",
            ".config.x[1].class_name",
            "the class os.y",
        ),
        (
            "{ class_name = 'StringLookup', config = { vocabulary = 'words.txt' } }",
            ".config.vocabulary",
            "words.txt",
        ),
        ("{ class_name = 'A', config = { x = 'https://example.org/x' } }", ".config.x", "the address"),
        ("{ class_name = 'A', config = { x = ['/etc/passwd'] } }", ".config.x[0]", "the path of a file"),
    ],
)
@pytest.mark.parametrize(
    ("line", "key"), [("replace = 'a'\nlayer", "layer"), ("update = 'a'\nactivation", "activation")]
)
def test_value_that_could_run_code_is_refused(line, key, table, keys, reason):
    error = error_of(f"[[edit]]\n{line} = {table}")

    assert reason in error.summary
    assert error.path == f"edit 1, key '{key}{keys}' in the recipe"


@pytest.mark.parametrize(
    "text",
    [
        "a." * 60 + "a = 1",
        "[" + "a." * 60 + "a]",
        "x = " + "[" * 60 + "]" * 60,
        "x = " + "{ a = " * 60 + "1" + " }" * 60,
    ],
)
def test_deep_nesting_is_refused(text):
    assert "nested more than 50 levels deep" in error_of(f"[[edit]]\nfreeze = 'a'\n{text}\n").summary


def test_long_keys_are_abbreviated_in_messages():
    key = "k" * 100_000

    assert len(str(error_of(f"{key} = 1\n"))) < 1000
    assert len(str(error_of(f"[[edit]]\n{key} = 1\n"))) < 1000
    assert len(str(error_of(f"[[edit]]\nfreeze = 'a'\n{key} = 1\n"))) < 1000


def test_registered_class_may_give_its_module():
    @keras.saving.register_keras_serializable("ramet_test_recipe", "Own")
    class Own(keras.layers.Layer):
        pass

    name = "ramet_test_recipe>Own"
    table = f"{{ class_name = 'Own', module = 'my.code', registered_name = '{name}' }}"

    assert read_recipe(f"[[edit]]\nreplace = 'a'\nlayer = {table}").edits[0].layer.registered_name == name


def test_file_is_read_by_its_path_and_gives_the_recipe_its_name(tmp_path):
    file = tmp_path / "slim.toml"
    file.write_bytes(b"\xef\xbb\xbf" + SLIM.replace("\n", "\r\n").encode())

    recipe = read_recipe(file)

    assert recipe == Recipe("slim", read_recipe(SLIM).edits)
    assert recipe.edits[0].where == "edit 1 in slim.toml"
    assert read_recipe(str(file)) == recipe


def test_unreadable_files_are_refused(tmp_path):
    (tmp_path / "slim.toml").write_text(SLIM)
    (tmp_path / "latin.toml").write_bytes("[[edit]]\n# gr\xfcn".encode("latin-1"))
    (tmp_path / "large.toml").write_text("#" * 300_000)

    with pytest.raises(RecipeError, match="there is no such file") as missing:
        read_recipe(tmp_path / "slm.toml")
    assert missing.value.closest == ("slim.toml",)
    assert missing.value.fix == "pass the path of a TOML file."
    with pytest.raises(RecipeError, match=r"Cannot read latin.toml:2:5: the file is not UTF-8"):
        read_recipe(tmp_path / "latin.toml")
    with pytest.raises(RecipeError, match="too large"):
        read_recipe(tmp_path / "large.toml")
    with pytest.raises(RecipeError, match="Cannot read"):
        read_recipe(tmp_path)
    with pytest.raises(RecipeError, match="Cannot read") as text:
        read_recipe("a\0b")
    assert text.value.fix == "pass the path of a TOML file, or the text of a recipe."


def test_endless_nesting_and_numbers_are_refused():
    assert "nested more than 50 levels deep" in error_of(f"x = {'[' * 9000}{']' * 9000}\n").summary
    assert "Cannot read" in error_of(f"x = {'9' * 9000}\n").summary


def test_edits_made_in_python_are_written():
    class Own:
        pass

    made = Recipe("mine", (e.freeze(of_class(Own) | named("a(b)")), e.update("x", rate=0.1, names=["é", '"', "\x7f"])))

    again = read_recipe(made.to_toml())

    assert again.edits[1] == made.edits[1]
    assert again.edits[0] == e.freeze(of_class(f"{Own.__module__}.{Own.__qualname__}") | named("a(b)"))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (e.replace("a", lambda old: old), "is a function"),
        (e.rename("a", str.upper), "is a function"),
        (e.freeze(where(lambda op: True)), "calls a function"),
        (e.update("a", seed=None), "TOML cannot express"),
        (e.update("a", value=object()), "object of class object"),
    ],
)
def test_edits_that_toml_cannot_express_are_not_written(edit, reason):
    with pytest.raises(RecipeError, match=reason):
        Recipe("mine", (edit,)).to_toml()


def test_errors_can_be_pickled():
    error = error_of("[[edit]]\nreplac = 'x'")

    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), again.line) == (RecipeError, str(error), None)


def test_empty_recipe_has_no_edits():
    assert read_recipe("# nothing\n") == Recipe("recipe", ())
    assert read_recipe("[[edit]]\nfreeze = 'anything()'\n").edits == (e.freeze(anything()),)
