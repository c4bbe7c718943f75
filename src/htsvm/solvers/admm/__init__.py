"""The paper's algorithm, as printed and with safeguards."""
