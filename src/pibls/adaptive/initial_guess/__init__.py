"""Where a nonlinear problem starts."""
