# SPDX-License-Identifier: Apache-2.0
"""What a developer's own `sley tune` has left must change no test: it is read when the library is first asked."""
import os

os.environ["SLEY_MACHINE"] = "builtin"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # PyTorch's: tensors are small, and its threads wait by looking on
