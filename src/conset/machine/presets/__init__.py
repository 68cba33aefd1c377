"""Machines by name, one TOML file each; `machine.preset.load_preset` reads them."""
