"""The language server, which answers editors' requests about specs while these are being
written.
"""
