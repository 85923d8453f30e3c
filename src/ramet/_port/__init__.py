"""Port model files between versions of Keras, as data.

A file of any version goes in (`source.py`); its config becomes a draft (`reading.py`, `draft.py`), its arrays are placed by
the names of layers and variables (`placement.py`), settings and operations are translated (`keras_2.py`, `settings.py`,
`tf_ops.py`, `versions.py`), and a new file and a `PortReport` come out (`porting.py`, `archive.py`, `report.py`). Keras is
not imported, and nothing in the file runs.
"""

from ramet._port.against import check_python
from ramet._port.porting import OPTIMIZER_STATE, accepted, compare_ported, plan_port, port
from ramet._port.releases import known_versions
from ramet._port.report import PortReport

__all__ = [
    "OPTIMIZER_STATE",
    "PortReport",
    "accepted",
    "check_python",
    "compare_ported",
    "known_versions",
    "plan_port",
    "port",
]
