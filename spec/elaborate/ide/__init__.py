"""What editors ask of a spec that was elaborated: names, references and scopes."""
