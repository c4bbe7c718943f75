"""
The shapes of the losses
========================

What a sample costs, by how far it is from where its label wants it. The hinge loss grows without
end, so a sample far on the wrong side pulls hard. Truncated losses end flat: there a sample pulls
no more.
"""

import matplotlib.pyplot as plt
import numpy as np

from htsvm.losses import HybridTruncated
from htsvm.plotting import plot_losses

_, axes = plt.subplots(1, 2, figsize=(10, 4))
plot_losses(ax=axes[0])
axes[0].set_title("Losses of support vector machines")

caps = (1.0, 2.0, np.inf)
plot_losses({f"cap {cap:g}": HybridTruncated(cap=cap) for cap in caps}, axes[1])
axes[1].set_title("The parameter cap of HTSVC")
plt.show()

# %%
# The slope is the pull. With a cap of 1 nothing pulls beyond the decision boundary (violation
# 1).
violation = np.linspace(-0.5, 3.0, 351)
for cap in caps:
    slope = np.gradient(HybridTruncated(cap=cap).value(violation), violation)
    plt.plot(violation, slope, label=f"cap {cap:g}")
plt.axvline(1.0, color="gray", lw=0.8, ls=":")
plt.xlabel("margin violation 1 - y f(x)")
plt.ylabel("pull on the model")
plt.legend(frameon=False)
plt.show()
