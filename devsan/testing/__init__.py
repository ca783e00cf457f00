"""DevSan in tests: the pytest plugin."""
