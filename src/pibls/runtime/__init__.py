"""Runtime support: deadlines, interruption by signals, memory limits, caching and pickling."""
