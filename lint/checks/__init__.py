"""One file a check: `FACTS` says what it listens to, `check` turns a fact into hits. `CALLS` narrows the calls down to
some symbols, or prefixes that end with a dot. A rule names its check in its YAML file.
"""
