"""Is a timeline possible?

Everything is computed again from the workload, the machine and the settings.
"""
