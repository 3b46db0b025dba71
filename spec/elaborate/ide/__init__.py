"""Names, references and scopes of an elaborated spec, for editors."""
