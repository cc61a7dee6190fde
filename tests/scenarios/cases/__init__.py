# SPDX-License-Identifier: Apache-2.0
"""One file is one scenario: it defines CASE."""

import importlib
import pkgutil


def load():
    found = [importlib.import_module(f"{__name__}.{m.name}").CASE for m in pkgutil.iter_modules(__path__)]
    return {case.name: case for case in found}
