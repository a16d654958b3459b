"""steadyread: how far can a medical vision-language model's reading be trusted?"""

__version__ = "0.1.0"
