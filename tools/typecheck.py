"""mypy on the package as users get it: installed from a wheel, because mypy can name neither the namespace itself nor,
through an editable install, its parts. Arguments: the packages to check.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checkout import ROOT, copy_checkout


def main(packages: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        subprocess.run([*pip, copy_checkout(Path(folder) / "source")], check=True)
        mypy = [
            sys.executable,
            "-m",
            "mypy",
            f"--config-file={ROOT / 'pyproject.toml'}",
            f"--cache-dir={ROOT / '.mypy_cache'}",
        ]
        arguments = [argument for package in packages for argument in ("-p", package)]
        return subprocess.run(
            [*mypy, *arguments], cwd=folder, env={**os.environ, "MYPYPATH": folder}, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
