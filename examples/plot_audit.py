"""
An audit of labels
==================

`audit_labels` puts labels in the order of how likely they are wrong, and suggests what they should
be. A review of fifty rows tells how many are wrong. `htsvm audit` does the same for a table, and
writes a page on which to review.
"""

import matplotlib.pyplot as plt
import numpy as np

from htsvm import audit_labels
from htsvm.datasets import load_noisy_digits

digits = load_noisy_digits()
audit = audit_labels(digits.data, digits.target, random_state=0)
print(audit.summary)

# %%
# The table has a row per sample, whose columns begin as those of cleanlab do.
print(audit.issues().head())

# %%
# Fifty rows are reviewed; here the right labels are known.
rows = audit.rows_to_review()
audit = audit.update(rows, digits.target_true[rows])
print(audit.summary)
print(f"in truth: {digits.wrong.mean():.1%}")
print(audit.reliability())

# %%
# How good are the verdicts?
issues = audit.is_issue()
print(f"{issues.sum()} issues, {digits.wrong[issues].mean():.0%} of them wrong; "
      f"{issues[digits.wrong].mean():.0%} of the wrong labels found")  # fmt: skip
corrected = audit.corrected_labels("replace")
print(f"labels right before: {np.mean(digits.target == digits.target_true):.0%}, "
      f"after: {np.mean(corrected == digits.target_true):.0%}")  # fmt: skip

# %%
# Trust in right and in wrong labels.
score = audit.trust
bins = np.linspace(0, 1, 26)
plt.hist([score[~digits.wrong], score[digits.wrong]], bins, label=["right", "wrong"], stacked=True)
plt.xlabel("score of the label")
plt.ylabel("samples")
plt.legend(frameon=False)
plt.show()
