"""Random TOML texts in every style."""

from hypothesis import strategies as st

KEYS = ("edit", "layer", "config", "class_name", "rate", "a", "b-1", "7")
BLANK = st.sampled_from(["", " ", "  ", "\t"])
BREAK = st.sampled_from(["", " ", "\n", "\n  ", " # a ] } \" ' comment\n", "\n\n"])
NASTY = st.sampled_from(
    ["", "x", "a, b", "# no comment", "[x]", "{y = 1}", "it's", 'so "called"', "é", "a\\b", "=", "key = 1"]
)


@st.composite
def basic_string(draw):
    text = draw(NASTY)
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    escape = draw(st.sampled_from(["", "\\t", "\\u00e9", "\\n"]))
    return f'"{plain}{escape}"'


@st.composite
def multi_line_string(draw):
    first, second = draw(NASTY), draw(NASTY)
    if draw(st.booleans()):
        quotes = draw(st.sampled_from(["", "'", "''"]))
        return f"'''{draw(BREAK.filter(lambda text: '#' not in text))}{first}\n{second}x{quotes}'''"
    fold = draw(st.sampled_from(["", "\\\n   ", '""', '\\"""']))
    quotes = draw(st.sampled_from(["", '"', '""']))
    escaped = first.replace("\\", "\\\\")
    return f'"""\n{escaped}x{fold}y{quotes}"""'


LITERAL = NASTY.filter(lambda text: "'" not in text).map(lambda text: f"'{text}'")
SCALAR = st.sampled_from(
    [
        "0",
        "-3",
        "1_000",
        "0xff",
        "1.5",
        "-1e-05",
        "inf",
        "true",
        "false",
        "2020-01-01",
        "2020-01-01 10:00:00Z",
        "07:32:00",
    ]
)
SINGLE = st.one_of(SCALAR, basic_string(), LITERAL, multi_line_string())


@st.composite
def key(draw, name=None):
    name = draw(st.sampled_from(KEYS)) if name is None else name
    return draw(st.sampled_from([name, f'"{name}"', f"'{name}'"]))


@st.composite
def array(draw, inner):
    items = draw(st.lists(inner, max_size=3))
    text = "".join(f"{draw(BREAK)}{item}{draw(BREAK)}," for item in items)
    return f"[{text if draw(st.booleans()) else text[:-1]}{draw(BREAK)}]"


@st.composite
def inline_table(draw, inner):
    names = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    pairs = [f"{draw(key(name))}{draw(BLANK)}={draw(BLANK)}{draw(inner)}" for name in names]
    return "{" + ", ".join(f"{draw(BLANK)}{pair}{draw(BLANK)}" for pair in pairs) + draw(BLANK) + "}"


VALUE = st.recursive(SINGLE, lambda inner: array(inner) | inline_table(inner), max_leaves=6)


@st.composite
def pairs(draw):
    """Draw lines of `key = value`, with dots in some keys."""
    lines = []
    for name in draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True)):
        dotted = "".join(f"{draw(BLANK)}.{draw(BLANK)}{draw(key())}" for _ in range(draw(st.integers(0, 2))))
        comment = draw(st.sampled_from(["", " # said = [1", "\n"]))
        lines.append(f"{draw(BLANK)}{draw(key(name))}{dotted}{draw(BLANK)}={draw(BLANK)}{draw(VALUE)}{comment}\n")
    return "".join(lines)


@st.composite
def documents(draw):
    """Draw a text with tables and lists of tables. Some are invalid TOML because of a repeated key."""
    parts = [draw(pairs())]
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(["edit", "edit.layer", "edit . 'config'", "edit.layer.a", "other", "edit.list"]))
        header = f"[[{name}]]" if draw(st.booleans()) else f"[ {name} ]"
        parts.append(f"{draw(BLANK)}{header} # [[not.this]]\n{draw(pairs())}")
    return "".join(parts)
