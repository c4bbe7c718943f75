"""
An audit of labels
==================

`audit_labels` scores every label by models that have not seen it, estimates how many are wrong,
and suggests what they should be. `htsvm audit` does the same for a CSV file, and writes a page on
which to review the suspects.
"""

import matplotlib.pyplot as plt
import numpy as np

from htsvm.audit import audit_labels
from htsvm.datasets import load_noisy_digits

digits = load_noisy_digits()
audit = audit_labels(digits.data, digits.target, random_state=0)
estimate = audit.share_wrong_interval
print(f"estimated share of wrong labels: {estimate.low:.0%} to {estimate.high:.0%}")
print(f"in truth: {digits.wrong.mean():.0%}")

# %%
# The table has a row per sample, whose columns begin as those of cleanlab do.
table = audit.to_frame()
print(table.head())

# %%
# How good are the verdicts? Here the truth is known.
issues = table["is_label_issue"].to_numpy()
print(f"{issues.sum()} issues, {digits.wrong[issues].mean():.0%} of them wrong; "
      f"{issues[digits.wrong].mean():.0%} of the wrong labels found")  # fmt: skip
corrected = audit.corrected_labels("replace")
print(f"labels right before: {np.mean(digits.target == digits.target_true):.0%}, "
      f"after: {np.mean(corrected == digits.target_true):.0%}")  # fmt: skip

# %%
# Trust in right and in wrong labels.
score = table["label_score"].to_numpy()
bins = np.linspace(0, 1, 26)
plt.hist([score[~digits.wrong], score[digits.wrong]], bins, label=["right", "wrong"], stacked=True)
plt.xlabel("score of the label")
plt.ylabel("samples")
plt.legend(frameon=False)
plt.show()
