"""How long tests wait for what never takes long, unless it hangs: no test depends on the time that something takes."""

HANG = 600.0
"""Seconds after which a thread, a process or a lane is taken to hang, on the busiest of machines."""
