"""The reference interpreter: it defines what every other engine must compute."""
