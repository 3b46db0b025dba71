"""The engine ``compiled``, which runs TLA+ modules at the speed of the engine ``local``."""
