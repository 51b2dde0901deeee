# SPDX-License-Identifier: Apache-2.0
"""The headers as a package of Conan 2, of the sources that this file lies in: conan create cmake/packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load


class Gmac(ConanFile):
    name = "gmac"
    description = "Distributional actor-critic methods, header-only C++20"
    license = "Apache-2.0"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _sources(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._sources, "include", "gmac", "version.hpp"))
        self.version = ".".join(re.findall(r"#define GMAC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for pattern in ("include/*", "LICENSE"):
            copy(self, pattern, self._sources, self.export_sources_folder)

    def requirements(self):
        for name in ("eigen/[>=3.3 <4]", "fmt/[>=9]", "xsimd/[>=8]"):
            self.requires(name)

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "include/*", self.source_folder, self.package_folder)

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "gmac")
        self.cpp_info.set_property("cmake_target_name", "gmac::gmac")
