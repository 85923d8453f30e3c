"""The rules of the scan, one file per topic.

To add a rule, write a `Rule` in a file here and add it to `RULES`. `tests/files/test_scan_rules.py` applies every rule to
its examples and names any rule that is missing in `RULES`.
"""

from ramet._files.scanner.rule import Rule
from ramet._files.scanner.rules import code, containers, layers, objects, texts

__all__ = ["RULES"]

# Findings of the same severity are reported in the order of the file, then in this order.
RULES: tuple[Rule, ...] = (
    objects.UNUSUAL_OBJECT,
    code.LAMBDA,
    objects.NAMED_OBJECT,
    code.CODE_IN_SETTINGS,
    layers.SAVED_MODEL,
    code.TORCH_MODULE,
    layers.JAX_FUNCTION,
    layers.TENSORFLOW_FUNCTION,
    texts.FUNCTION_NAME,
    texts.VOCABULARY_FILE,
    texts.ADDRESS,
    containers.BROKEN_ARCHIVE,
    containers.PICKLED_WEIGHTS,
    containers.FOREIGN_FILE,
    containers.BROKEN_WEIGHTS,
)
