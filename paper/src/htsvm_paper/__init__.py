"""The paper's experiments, data sets and comparison methods, built on `htsvm`."""
