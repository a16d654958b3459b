"""Trains the phantom readers: small vision-language models with failure modes that are known beforehand."""
