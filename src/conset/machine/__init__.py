"""Machines: a network with its routing, limits and costs.

`machine` holds the value types, `costs`, `limits` and `times` what transfers take, `spec` reads
specifications such as `torus:8x8,link=1GB/s`, `presets` holds machines by name, `network`
topologies, routing, families and graph files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
