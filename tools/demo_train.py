# SPDX-License-Identifier: Apache-2.0
"""demo_train.py DIR: a training loop as people write it: a PyTorch DataLoader with worker processes over the files of
DIR, and a device that computes on each batch. The device is the simulated one. Runs until SIGTERM."""

import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, Dataset

import gpusim

BATCH = 16
WORKERS = 2
STEP_NS = 15_000_000  # device work per batch
STEADY_AFTER = 30     # steps: the workers run and their first batches are used up


class Files(Dataset):
    def __init__(self, directory):
        self.paths = sorted(entry.path for entry in os.scandir(directory) if entry.is_file())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb", buffering=0) as f:
            data = bytearray(f.read())
            # A data set larger than memory: what was read does not stay in the page cache.
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return torch.frombuffer(data, dtype=torch.uint8)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the workers are ended too
    torch.set_num_threads(1)
    torch.manual_seed(0)
    loader = DataLoader(Files(sys.argv[1]), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                        persistent_workers=True)
    device = gpusim.Device()
    step = 0
    while True:
        for batch in loader:
            device.copy_to_device(batch)
            device.launch(STEP_NS)
            device.synchronize()
            step += 1
            if step == STEADY_AFTER:
                print(f"steady after {step} steps", flush=True)


if __name__ == "__main__":
    main()
