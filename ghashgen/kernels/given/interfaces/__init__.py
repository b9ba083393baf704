"""Each module is a host's interface, and exports one INTERFACE."""
