"""Let Coq's kernel check the exact ratio of a certificate (``kvbounds proofs --certificate``)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from theory.errors import ClaimError
from theory.proofs import FOLDER, read_report, require
from theory.proofs.export import data_file, exact_ratio

__all__ = ["certify"]

THEOREM = """
Theorem accepted : {statement}.
Proof. apply (certificate_sound given). vm_compute. reflexivity. Qed.

Set Printing Width 100.
Check accepted.
Print Assumptions accepted.
"""


def certify(value: Any, where: str = "certificate") -> str:
    """Check a certificate in Coq; the theorem that the kernel has accepted, as Coq prints it.

    The checker is proved sound on the way: it is built from nothing in a temporary folder.

    Parameters
    ----------
    value : object
        The parsed JSON of an exact ratio of Leaf-LRU.
    where : str
        What messages call it.

    Raises
    ------
    InputError
        If Coq or make is missing, or the checker does not cover the certificate.
    ClaimError
        If the certificate is not valid, or the kernel does not accept it.
    """
    require("coqc", "make")
    text = data_file({"given": value}, where) + THEOREM.format(statement=exact_ratio(value))
    with tempfile.TemporaryDirectory(prefix="kvbounds-certificate-") as name:
        folder = Path(name)
        for source in (FOLDER / "_CoqProject", *FOLDER.glob("*.v")):
            shutil.copy(source, folder)
        _run(folder, "coq_makefile", "-f", "_CoqProject", "-o", "CoqMakefile")
        _run(folder, "make", "--silent", "-f", "CoqMakefile", "Certificate.vo")
        (folder / "Given.v").write_text(text, encoding="utf-8")
        report = _run(folder, "coqc", "-Q", ".", "KVBounds", "Given.v")
    formal, axioms = read_report(report, ["accepted"])["accepted"]
    if axioms:
        raise ClaimError(f"{where}: the proof rests on axioms: {', '.join(axioms)}")
    return formal


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        last = " | ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        raise ClaimError(f"Coq does not accept the certificate: {last}")
    return done.stdout
