"""Recipes as data: what a text says, where it is wrong, and how edits are written down. Nothing here knows Keras."""

import pickle

import pytest

from ramet import anything, edits, named, of_class, where
from ramet import edits as e
from ramet._edit import LayerConfig, Recipe, RecipeError
from ramet._edit import read_recipe as read
from ramet._edit import recipe as recipe_module
from ramet._edit.recipe_argument import WEIGHT_POLICIES

pytestmark = pytest.mark.no_backend

MAKERS = {name: getattr(edits, name) for name in edits.__all__}
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


def read_text(text):
    return read(text, MAKERS)


def layer(class_name, **config):
    return LayerConfig.of({"class_name": class_name, "config": config})


def error_of(text):
    with pytest.raises(RecipeError) as told:
        read_text(text)
    return told.value


def test_a_recipe_says_what_the_same_edits_in_python_say():
    recipe = read_text(SLIM)

    assert recipe.edits == (
        e.replace(of_class("ReLU"), layer("Activation", activation="gelu")),
        e.insert_after(of_class("Dense") & ~named("logits"), layer("Dropout", rate=0.1)),
        e.remove("*/dropout*", required=False),
        e.swap_head(10),
        e.update("drop*", rate=0.3),
    )
    assert len(recipe) == 5
    assert [edit.where for edit in recipe] == ["recipe:3:1", "recipe:7:1", "recipe:12:1", "recipe:16:1", "recipe:19:1"]


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
        ('quantize = "of_class(\'Dense\')"\nmode = "int4"', e.quantize(of_class("Dense"), "int4")),
        ('lora = "attention*/query"', e.lora("attention*/query")),
        (
            'lora = "a"\nrank = 8\nalpha = 2.5\nfreeze_rest = false\nseed = 3\nrequired = false',
            e.lora("a", 8, alpha=2.5, freeze_rest=False, seed=3, required=False),
        ),
    ],
)
def test_an_edit_is_read_and_written(text, edit):
    recipe = read_text(f"[[edit]]\n{text}\n")

    assert recipe.edits == (edit,)
    assert read_text(recipe.to_toml()) == recipe


def test_a_recipe_is_printed_with_its_name_and_edits():
    text = 'name = "slim"\n[[edit]]\nremove = "drop*"\n[[edit]]\nflatten = true\n'

    assert str(read_text(text)) == "Recipe 'slim': 2 edits\n1. remove(named('drop*'))\n2. flatten()"


def test_every_edit_can_be_in_a_recipe_and_every_argument_has_a_reader():
    import inspect

    from ramet._edit import recipe_argument

    known = {*recipe_argument._READERS, "layer", "activation", "settings"}
    for kind, maker in MAKERS.items():
        own = {name for edit, name in recipe_argument._OF_ONE if edit == kind}
        assert set(inspect.signature(maker).parameters) <= known | own


@pytest.mark.parametrize(
    "policy", ["int8_from_float32", "int4_from_bfloat16", "int4/32_from_float32", "int8", "gptq/4/128"]
)
def test_a_policy_that_quantises_is_refused_with_its_place(policy):
    error = error_of(f'[[edit]]\ncast = "{policy}"\n')

    assert error.path == "recipe:2:8"
    assert error.fix == f'write quantize = "anything()" and mode = "{policy[:4]}" instead.'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('quantize = "a"\nmode = "int7"', "Cannot read 'mode'"),
        ('quantize = "a"\nmode = "gptq"', "it needs calibration data"),
        ('lora = "a"\nrank = 2.5', "Cannot read 'rank'"),
        ('lora = "a"\nalpha = "2"', "Cannot read 'alpha'"),
        ('lora = "a"\nfreeze_rest = 1', "Cannot read 'freeze_rest'"),
    ],
)
def test_wrong_arguments_of_quantize_and_lora_are_refused(text, words):
    assert words in error_of(f"[[edit]]\n{text}\n").summary


@pytest.mark.parametrize(
    ("text", "place", "summary", "closest"),
    [
        ('[[edit]]\nreplac = "x"', "2:1", "Cannot read the edit: there is no edit 'replac'.", "replace"),
        ('[[edit]]\nremove = "x"\n  keeep = 3', "3:3", "Cannot read the edit 'remove': it takes no 'keeep'.", "keep"),
        (
            '[[edit]]\nremove = { selector = "x", keeep = 3 }',
            "2:28",
            "Cannot read the edit 'remove': it takes no 'keeep'.",
            "keep",
        ),
        ('[[edit]]\nreplace = "x"', "2:1", "Cannot read the edit 'replace': it does not say 'layer'.", None),
        ('[[edit]]\nremove = "x"\nrequired = "yes"', "3:12", "Cannot read 'required': it is the text 'yes'.", None),
        ("[[edit]]\nremove = 3", "2:10", "Cannot read 'selector': it is the number 3.", None),
        ("[[edit]]\nswap_head = 1.5", "2:13", "Cannot read 'classes': it is the number 1.5.", None),
        ("[[edit]]\nresize_input = [1, true]", "2:16", "Cannot read 'shape': it is a list.", None),
        ('[[edit]]\nswap_head = 3\nweights = "slic"', "3:11", "Cannot read 'weights': it is the text 'slic'.", "slice"),
        (
            '[[edit]]\ncast = "mixed_bfloat61"',
            "2:8",
            "Cannot read 'policy': it is the text 'mixed_bfloat61'.",
            "mixed_bfloat16",
        ),
        (
            "[[edit]]\nremove = \"of_class('A') & of_clas('B')\"",
            "2:27",
            "Cannot read the selector: there is no selector 'of_clas'.",
            "of_class",
        ),
        (
            "[[edit]]\nremove = [\n  'a', # the first\n  '''\nof_class('A') &\n  where('B')''',\n]",
            "6:3",
            "Cannot read the selector: 'where' takes a function, and a recipe runs no code.",
            None,
        ),
        (
            '[[edit]]\nremove = "a"\nflatten = true',
            "3:1",
            "Cannot read the edit: it is both 'remove' and 'flatten'.",
            None,
        ),
        ('[[edit]]\nremove = "a"\n[[edit]]\n', "3:1", "Cannot read the edit: it is empty.", None),
        ("[[edit]]\nfreeze = false", "2:10", "Cannot read the edit 'freeze': it is false.", None),
        ("[[edit]]\nremove = true", "2:10", "Cannot read the edit 'remove': it is true.", None),
        ("[[edits]]\nremove = 'a'", "1:1", "Cannot read the recipe: it has no 'edits'.", "edit"),
        ("[edit]\nremove = 'a'\n", "1:1", "Cannot read the recipe: 'edit' is no list of tables.", None),
        ("name = 3\n[[edit]]\nflatten = true", "1:8", "Cannot read the recipe: its name is no text.", None),
        ("[[edit]]\nupdate = 'a'\nrate = 2020-01-01", "3:8", "Cannot read 'rate': it is a date or a time.", None),
        (
            "[[edit]]\r\nremove = 'a'\r\nkeeep = 1\r\n",
            "3:1",
            "Cannot read the edit 'remove': it takes no 'keeep'.",
            "keep",
        ),
        (
            "[[edit]]\nreplace = 'a'\nlayer = { class_name = 'Dropout', rate = 0.1 }",
            "3:35",
            "Cannot read the layer: it has no 'rate'.",
            None,
        ),
        ("[[edit]]\nreplace = 'a'\nlayer = 'ReLU'", "3:9", "Cannot read 'layer': it is the text 'ReLU'.", None),
        ("[[edit]]\nreplace = 'a'\nlayer = {}", "3:9", "Cannot read the layer: it does not say its class.", None),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_column(text, place, summary, closest):
    error = error_of(text)

    assert error.summary == f"recipe:{place}: {summary}"
    assert error.path == f"recipe:{place}"
    assert f"{error.line}:{error.column}" == place
    if closest is not None:
        assert error.closest == (closest,)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[[edit]]\nfreeze = 'a\n", (2, 12)),
        ("[[edit]]\nfreeze = 'a'\nfreeze = 'b'\n", (3, 13)),
        ("[[edit]]\nfreeze =", (2, 9)),
    ],
)
def test_a_text_that_is_no_toml_is_refused_where_it_goes_wrong(text, place):
    error = error_of(text)

    assert error.summary.startswith(f"recipe:{place[0]}:{place[1]}: Cannot read the recipe: it is no TOML (")
    assert (error.line, error.column) == place


@pytest.mark.parametrize(
    ("table", "place", "reason"),
    [
        (
            "{ class_name = 'Lambda', config = { function = { class_name = '__lambda__', config = {} } } }",
            63,
            "compiled Python code",
        ),
        ("{ class_name = 'Popen', module = 'subprocess' }", 16, "the class subprocess.Popen"),
        ("{ class_name = 'X', module = 'os', registered_name = 'X' }", 16, "the class os.X"),
        ("{ class_name = 'X', module = 'my_layers' }", 30, "nothing is imported from 'my_layers'"),
        ("{ class_name = 'X', config = {}, module = 'keras_hub', registered_name = 'a>X' }", 43, "from 'keras_hub'"),
        ("{ class_name = 'JaxLayer', registered_name = 'a>b' }", 16, "made of Python functions"),
        ("{ class_name = 'get_file', module = 'keras.utils' }", 16, "keras.utils.get_file, which is no"),
        ("{ class_name = 'TFSMLayer', config = { filepath = '/x' } }", 16, "loads the TensorFlow SavedModel"),
        ("{ class_name = 'TorchModuleWrapper' }", 16, "pickled"),
        ("{ class_name = 'A', config = { x = [1, { class_name = 'y', module = 'os' }] } }", 55, "the class os.y"),
        ("{ class_name = 'StringLookup', config = { vocabulary = 'words.txt' } }", 56, "words.txt"),
        ("{ class_name = 'A', config = { x = 'https://example.org/x' } }", 36, "the address"),
        ("{ class_name = 'A', config = { x = ['/etc/passwd'] } }", 37, "the path of a file"),
    ],
)
@pytest.mark.parametrize("line", ["replace = 'a'\nlayer", "update = 'a'\nactivation"])
def test_nothing_that_would_bring_code_is_taken_from_a_file(line, table, place, reason):
    error = error_of(f"[[edit]]\n{line} = {table}")

    assert reason in error.summary
    assert (error.line, error.column) == (3, place + len(line.splitlines()[1]) + 3)


@pytest.mark.parametrize(
    "text",
    [
        "a." * 60 + "a = 1",
        "[" + "a." * 60 + "a]",
        "x = " + "[" * 60 + "]" * 60,
        "x = " + "{ a = " * 60 + "1" + " }" * 60,
    ],
)
def test_deep_nesting_is_refused_before_anything_is_made_of_it(text, monkeypatch):
    made = []
    monkeypatch.setattr(recipe_module, "find_places", made.append)

    assert "nested too deeply" in error_of(f"[[edit]]\nfreeze = 'a'\n{text}\n").summary
    assert made == []


def test_long_keys_and_texts_are_shortened_in_messages():
    key = "k" * 100_000

    assert len(str(error_of(f"{key} = 1\n"))) < 1000
    assert len(str(error_of(f"[[edit]]\n{key} = 1\n"))) < 1000
    assert len(str(error_of(f"[[edit]]\nfreeze = 'a'\n{key} = 1\n"))) < 1000


def test_the_place_of_a_layer_is_looked_up_when_it_is_needed():
    """Thousands of layers hold one page, not a list of places each."""
    text = "".join(f"[[edit]]\nreplace = 'a{n}'\nlayer = {{ class_name = 'ReLU' }}\n" for n in range(100))
    edits = read_text(text).edits

    assert len({id(edit["layer"].page) for edit in edits}) == 1
    assert edits[7]["layer"].place(("class_name",)) == "recipe:24:24"


def test_a_registered_class_may_say_its_module():
    text = "[[edit]]\nreplace = 'a'\nlayer = { class_name = 'Own', module = 'my.code', registered_name = 'my>Own' }"

    assert read_text(text).edits[0]["layer"].registered_name == "my>Own"


def test_files_are_read_by_their_path_and_named_after_it(tmp_path):
    file = tmp_path / "slim.toml"
    file.write_bytes(b"\xef\xbb\xbf" + SLIM.replace("\n", "\r\n").encode())

    recipe = read(file, MAKERS)

    assert recipe == Recipe("slim", read_text(SLIM).edits)
    assert recipe.edits[0].where == "slim.toml:3:1"
    assert read(str(file), MAKERS) == recipe


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "slim.toml").write_text(SLIM)
    (tmp_path / "latin.toml").write_bytes("[[edit]]\n# gr\xfcn".encode("latin-1"))
    (tmp_path / "large.toml").write_text("#" * 300_000)

    with pytest.raises(RecipeError, match="there is no such file") as missing:
        read(tmp_path / "slm.toml", MAKERS)
    assert missing.value.closest == ("slim.toml",)
    with pytest.raises(RecipeError, match=r"latin.toml:2:5: Cannot read the recipe: it is not UTF-8"):
        read(tmp_path / "latin.toml", MAKERS)
    with pytest.raises(RecipeError, match="too large"):
        read(tmp_path / "large.toml", MAKERS)
    with pytest.raises(RecipeError, match="Cannot read"):
        read(tmp_path, MAKERS)
    with pytest.raises(RecipeError, match="Cannot read"):
        read("a\0b", MAKERS)


def test_endless_nesting_and_numbers_are_refused():
    assert "nested too deeply" in error_of(f"x = {'[' * 9000}{']' * 9000}\n").summary
    assert "Cannot read" in error_of(f"x = {'9' * 9000}\n").summary


def test_edits_made_in_python_are_written_where_a_text_can_say_them():
    class Own:
        pass

    made = Recipe("mine", (e.freeze(of_class(Own) | named("a(b)")), e.update("x", rate=0.1, names=["é", '"', "\x7f"])))

    again = read_text(made.to_toml())

    assert again.edits[1] == made.edits[1]
    assert again.edits[0] == e.freeze(of_class(f"{Own.__module__}.{Own.__qualname__}") | named("a(b)"))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (e.replace("a", lambda old: old), "is a function"),
        (e.rename("a", str.upper), "is a function"),
        (e.freeze(where(lambda op: True)), "asks a function"),
        (e.update("a", seed=None), "TOML cannot say"),
        (e.update("a", value=object()), "object of class object"),
    ],
)
def test_edits_that_no_text_can_say_are_refused(edit, reason):
    with pytest.raises(RecipeError, match=reason):
        Recipe("mine", (edit,)).to_toml()


def test_errors_travel_between_processes():
    error = error_of("[[edit]]\nreplac = 'x'")

    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), again.line) == (RecipeError, str(error), 2)


def test_all_policies_of_weights_are_known():
    from ramet._weights.policy import POLICIES

    assert WEIGHT_POLICIES == POLICIES


def test_an_empty_recipe_has_no_edits():
    assert read_text("# nothing\n") == Recipe("recipe", ())
    assert read_text("[[edit]]\nfreeze = 'anything()'\n").edits == (e.freeze(anything()),)
