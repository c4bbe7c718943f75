"""Build the optional compiled kernels; everything else is in pyproject.toml.

The extension is an accelerator, not a requirement: where no C compiler works, the package
installs without it and `htsvm.linalg` serves the same functions from NumPy. OpenMP is used
where the compiler offers it.
"""

import os
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Sums may be reordered so that dot products use vector instructions; NaN and infinity keep
# their meaning (inputs are checked before they get here, but intermediate values may overflow).
OPTIMISE = [
    "-O3",
    "-g0",  # wheels of a megabyte, not of four
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fassociative-math",
    "-fno-signed-zeros",
]
MODULES = [
    "linalg._rows",
    "linalg._vectors",
    "solvers._steps",
    "solvers._sweeps",
    "solvers._pairs",
    "solvers.multiclass._block_sweeps",
]
PROBE = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"


class BuildKernels(build_ext):
    """`build_ext` that asks the compiler for OpenMP and never lets a failure stop the install."""

    def build_extension(self, ext):
        """Compile with optimisation, and with OpenMP where the compiler has it."""
        if self.compiler.compiler_type == "msvc":
            ext.extra_compile_args = ["/O2", "/openmp"]
        else:
            ext.extra_compile_args = [*OPTIMISE]
            if self._compiler_accepts("-fopenmp"):
                ext.extra_compile_args.append("-fopenmp")
                ext.extra_link_args = ["-fopenmp"]
        super().build_extension(ext)

    def _compiler_accepts(self, flag):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.c"
            source.write_text(PROBE)
            target = str(Path(folder) / "probe")
            flags = [flag]
            try:
                objects = self.compiler.compile(
                    [str(source)], output_dir=folder, extra_postargs=flags
                )
                self.compiler.link_executable(objects, target, extra_postargs=flags)
            except Exception:
                return False
        return True


def kernels():
    """Return the extensions, or nothing where Cython is missing or `HTSVM_NO_EXTENSION` is set."""
    if os.environ.get("HTSVM_NO_EXTENSION"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        print("htsvm: Cython is missing, installing without compiled kernels", file=sys.stderr)
        return []
    extensions = cythonize(
        [
            Extension(
                f"htsvm.{name}",
                [f"src/htsvm/{name.replace('.', '/')}.pyx"],
                include_dirs=["src/htsvm/linalg"],
            )
            for name in MODULES
        ],
    )
    for extension in extensions:
        # To be set here: cythonize does not hand it on.
        extension.optional = True
    return extensions


setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels})
