"""
A certificate, and a point that does not deserve one
====================================================

The problem is not convex, so "the solver stopped" says little. `certify` looks at a point from
first principles, whoever computed it: is it stationary, in which sense, and is it a minimum?
"""

import matplotlib.pyplot as plt
import numpy as np

from htsvm import HTSVC, certify
from htsvm.losses import HybridTruncated

# %%
# A fit and its certificate: residuals of the stationarity conditions, the range of the step size
# nu in which they hold, and a verdict of second order.
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
y = np.where(X @ [1.0, 0.5] + 0.3 * rng.normal(size=200) > 0, 1, -1)
y[:30] *= -1
model = HTSVC().fit(X, y)
print(model.certificate_[0])

# %%
# Now a trap: three samples of one feature at which a point can satisfy every first-order
# condition and still be a saddle. All residuals are zero up to rounding, and yet it is no
# minimum.
d = np.sqrt(5 / 8)
X, y, C = np.array([[d], [d], [0.0]]), np.array([1, 1, -1]), 1.0
w = 1.2 * d
b = 1 / 6 - w * d
multipliers = np.array([-0.6, -0.6, -1.2])
loss = HybridTruncated()
verdict = certify(X, y, coef=[w], intercept=b, multipliers=multipliers, C=C, loss=loss)
print(verdict)

# %%
# The objective around the saddle: one way up, one way down.
dw, db = np.meshgrid(np.linspace(-0.12, 0.12, 81), np.linspace(-0.12, 0.12, 81))


def objective(w, b):
    violations = 1 - y[:, None, None] * (X[:, :, None] * w + b)
    return 0.5 * w**2 + C * loss.value(violations).sum(axis=0)


level = objective(w + dw, b + db) - objective(np.array(w), np.array(b))
picture = plt.contourf(dw, db, level, levels=21, cmap="coolwarm", vmin=-0.1, vmax=0.1)
plt.contour(dw, db, level, levels=[0.0], colors="black", linewidths=1)
plt.plot(0, 0, "k*", ms=12)
plt.colorbar(picture, label="objective, less its value at the point")
plt.xlabel("step in w")
plt.ylabel("step in b")
plt.show()
