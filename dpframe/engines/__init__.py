"""Where the exact integer parts are computed."""
