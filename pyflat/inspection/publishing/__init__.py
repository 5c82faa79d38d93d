"""What a library ships so that it does not need pyflat at run time."""
