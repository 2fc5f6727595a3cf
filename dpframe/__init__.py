"""Differentially private queries for dataframes."""
