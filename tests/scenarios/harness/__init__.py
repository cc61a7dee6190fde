# SPDX-License-Identifier: Apache-2.0
"""Runs whystall against a program with an injected fault and scores its answer against the simulated device."""
