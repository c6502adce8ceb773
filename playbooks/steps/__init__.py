"""Step kinds: functions that make a `Step` of their parameters, and models of playbook entries that do (`kinds`).

Planning one is pure; only `apply` runs its script.
"""
