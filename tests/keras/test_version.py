"""The Keras versions that ramet accepts."""

import random
import warnings

import keras
import pytest

import ramet
from ramet._keras import check_version


@pytest.mark.parametrize("version", ["3.99.0", "4.0.0", "3.16.0.dev2026", "3.100"])
def test_newer_keras_is_warned_about_once(version):
    with pytest.warns(
        ramet.errors.UntestedKerasWarning, match="newer than the newest version ramet was tested with"
    ) as caught:
        check_version(f"{version}+{random.random()}")

    assert len(caught) == 1


def test_warning_is_given_once_per_version():
    version = f"3.99.1+{random.random()}"
    with pytest.warns(ramet.errors.UntestedKerasWarning):
        check_version(version)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version(version)


@pytest.mark.parametrize("version", ["3.0.0", "3.11.3", "2.15.0", "1.2"])
def test_older_keras_is_refused(version):
    with pytest.raises(ramet.errors.UnsupportedKerasError, match=f"Cannot use Keras {version}") as caught:
        check_version(version)

    assert isinstance(caught.value, ImportError)
    assert "pip install" in caught.value.fix


@pytest.mark.parametrize("version", ["3.12.0", "3.13.1", "3.14.0rc1", "3.15.1", keras.__version__])
def test_tested_keras_gives_no_warning(version):
    check_version(version)
