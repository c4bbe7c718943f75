"""The paper's tables and figures, computed again by ``htsvm-paper reproduce``, then ``report``.

Every experiment is a module here; `catalogue` lists them. `methods` is the registry of the methods
that are compared, `runner` computes cells in processes of their own, `store` keeps what they found,
`report` shows it beside the paper's numbers.
"""
