"""One file a check: `FACTS` says what it listens to, `check` turns a fact into hits. A rule names its check in its YAML
file.
"""
