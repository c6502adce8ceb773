"""The program that one host runs while a folder is spread: it lends what it has and fetches what it lacks.

Runs with the host's own Python, 3.8 or later, and nothing else.
"""
