"""The machines of the texts, one TOML file each; `machine.file.load_preset` reads them."""
