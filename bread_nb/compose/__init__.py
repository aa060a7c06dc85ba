"""How runs combine, and how their work is judged."""
