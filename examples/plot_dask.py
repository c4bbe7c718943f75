"""
A fit on Dask
=============

The same call takes a Dask array: the data stay in blocks, on this machine or on many. The answer
is that of a fit in memory.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from htsvm import HTSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
y = (X[:, 0] + X[:, 1] - 0.5 * X[:, 2] > 0).astype(int)
wrong = rng.random(len(y)) < 0.2
given = np.where(wrong, 1 - y, y)

# %%
# Five blocks of rows. Any scheduler serves; here threads of this process.
blocks = da.from_array(X, chunks=(4_000, -1))
with dask.config.set(scheduler="threads"):
    model = HTSVC().fit(blocks, da.from_array(given, chunks=4_000))
    accuracy = model.score(blocks, y)
    ignored = model.ignored_.compute()
print(f"{accuracy:.1%} right, {wrong[ignored].mean():.0%} of the {len(ignored)} ignored were wrong")

# %%
# Beside the fit in memory.
local = HTSVC().fit(X, given)
print(f"objectives differ by {abs(model.objective_[0] / local.objective_[0] - 1):.1e}")
places = np.arange(10)
plt.bar(places - 0.2, local.coef_[0], 0.4, label="in memory")
plt.bar(places + 0.2, model.coef_[0], 0.4, label="on Dask")
plt.xlabel("feature")
plt.ylabel("weight")
plt.legend(frameon=False)
plt.show()
