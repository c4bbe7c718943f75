"""Logistic regression with the hybrid truncation of the cross-entropy."""
