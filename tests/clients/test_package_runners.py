"""The JavaScript rehearsal package starts `hubbub dev` with uvx and with pipx.

`make package-runners` installs both programs into `.venvs`. They receive a wheel that has the name, the extra and the command
of Hubbub and that adds the modules of this environment, so that they download nothing."""

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

import hubbub
from tests.clients.discord_js_bot import NODE

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "packages" / "rehearsal-js" / "src" / "index.js"
RUNNERS: Final = {"uvx": ROOT / ".venvs" / "uv" / "bin" / "uvx", "pipx": ROOT / ".venvs" / "pipx" / "bin" / "pipx"}
TIMEOUT_SECONDS: Final = 240

PROGRAM: Final = f"""
import {{ startPlatform }} from {str(PACKAGE)!r};
const platform = await startPlatform({{ seed: 7 }});
const [alice, bob] = [platform.person("alice"), platform.person("bob")];
await bob.connect();
await alice.say("hello");
console.log((await bob.expect("MESSAGE_CREATE", {{ content: "hello" }})).content);
await platform.close();
console.log(await fetch(platform.web).catch(() => "stopped"));
"""


def write_wheel(folder: Path) -> None:
    """Write a wheel of Hubbub whose modules are those of this environment."""
    name, version = "hubbub", hubbub.__version__
    information = f"{name}-{version}.dist-info"
    paths = [str(Path(hubbub.__file__).parents[1]), *site.getsitepackages()]
    files = {
        "hubbub_modules.pth": "\n".join(paths),
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: server\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/entry_points.txt": "[console_scripts]\nhubbub = hubbub.server.cli:run_process\n",
    }
    files[f"{information}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{information}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
@pytest.mark.parametrize(
    "runner", [pytest.param(name, marks=pytest.mark.program(str(path))) for name, path in RUNNERS.items()]
)
def test_a_platform_starts_with_an_installed_runner(runner: str, tmp_path: Path) -> None:
    wheels, programs = tmp_path / "wheels", tmp_path / "programs"
    wheels.mkdir()
    programs.mkdir()
    write_wheel(wheels)
    (programs / runner).symlink_to(RUNNERS[runner])
    for tool in ("dirname", "realpath"):
        # The command that uv installs is a shell script with these tools.
        (programs / tool).symlink_to(str(shutil.which(tool)))
    environment = {
        # The package uses the first of its programs in PATH. Node.js is started by its path.
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "UV_FIND_LINKS": str(wheels),
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
        # pipx would install pip once more.
        "PIPX_SHARED_LIBS": str(ROOT / ".venvs" / "pipx"),
        "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
    }
    assert NODE is not None
    completed = subprocess.run(
        [NODE, "--input-type=module", "--eval", PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (completed.returncode, completed.stdout) == (0, "hello\nstopped\n"), completed.stderr
