"""From surface trees to the typed core.

Each package imports only from those before it: base, types, values, actions, claims, ide.
"""
