"""What every search shares: account, limits, interrupts, the way back to a trace."""
