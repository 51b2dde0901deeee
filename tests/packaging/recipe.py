# SPDX-License-Identifier: Apache-2.0
"""recipe.py SOURCES SCRATCH VERSION: runs the recipe for Conan with modules of the same names in the place of Conan's own,
as its documentation describes them, and looks at the package that it leaves."""

import filecmp
import pathlib
import runpy
import shutil
import sys
import types

sources, scratch, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]


def copy(recipe, pattern, source, destination):
    source = pathlib.Path(source)
    for path in source.glob(pattern.replace("/*", "/**/*")):
        if path.is_file():
            target = pathlib.Path(destination) / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).glob("**/*") if path.is_file())


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


module("conan", ConanFile=object)
module("conan.tools")
module("conan.tools.build", check_min_cppstd=None)
module("conan.tools.files", copy=copy, load=lambda recipe, path: pathlib.Path(path).read_text())

path = sources / "cmake" / "packaging" / "conan" / "conanfile.py"
recipe = runpy.run_path(str(path))["Gmac"]()
shutil.rmtree(scratch, ignore_errors=True)
recipe.recipe_folder = str(path.parent)
recipe.export_sources_folder = recipe.source_folder = str(scratch / "sources")
recipe.package_folder = str(scratch / "package")

recipe.set_version()
assert f"{recipe.name}/{recipe.version}" == f"gmac/{version}", recipe.version
required = []
recipe.requires = required.append
recipe.requirements()
assert [name.split("/")[0] for name in required] == ["eigen", "fmt", "xsimd"], required

recipe.export_sources()
recipe.package()
headers = [f"include/{name}" for name in files(sources / "include")]
assert files(recipe.package_folder) == headers + ["licenses/LICENSE"], files(recipe.package_folder)
assert not filecmp.cmpfiles(sources, recipe.package_folder, headers, shallow=False)[1]
