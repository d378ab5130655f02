"""What does a max-pool network do at real images? The windows that see nothing but background tie, exactly.

NumPy is enough. ``python audit_of_a_max_pool.py [PICTURE.svg] [PAGE.html]``
"""

import sys
from pathlib import Path

import numpy as np

import crease

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"

if __name__ == "__main__":
    images = np.load(DIGITS / "images.npy").astype(np.float32)[:20]
    labels = np.load(DIGITS / "labels.npy")[:20]
    net = crease.load(DIGITS / "digits.onnx")
    shape = net.inputs[0][1]
    audit = crease.audit(net, [image.reshape(shape) for image in images], labels=labels, threads=2)
    print(audit)
    tied = [sum(layer["tied"] for layer in f["layers"]) for f in audit.findings]
    print("images with ties:", sum(t > 0 for t in tied), "of", len(tied))
    if len(sys.argv) > 1:
        from picture import Picture

        p = Picture((0, len(tied)), (0, max(tied) * 1.15), title="ties by image")
        for i, t in enumerate(tied):
            p.bar(i + 0.1, 0.8, t, "")
        p.save(sys.argv[1])
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(audit.to_html("digits"), encoding="utf-8")
