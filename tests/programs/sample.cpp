// SPDX-License-Identifier: Apache-2.0
// A program that does what its argument says, as the programs of examples/ run: for run_main.cpp.
#include "support/run_main.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

int work(std::string_view what, std::string const& file) {
    if (what == "print")
        fmt::print("a line\n");
    else if (what == "print much")
        fmt::print("{}\n", std::string(100'000, 'x'));
    else if (what == "stream")
        std::cout << "a line\n";
    else if (what == "flush") {
        std::printf("a line\n");
        std::fflush(stdout);
    } else if (what == "file") { // what is printed must not go into it
        std::ofstream out(file);
        out << "mine" << std::flush;
        fmt::print("a line\n");
        std::fflush(stdout);
        fmt::print(stderr, "another\n");
    } else if (what == "error")
        gmac::fail("the number is {}, but must be {}", 3, 4);
    else if (what == "long error")
        gmac::fail("{}z is not a number", std::string(100'000, 'x'));
    else if (what == "long letters") // of two bytes each, and the beginning of one of them
        gmac::fail("a{}", [] {
            std::string text;
            for (int i = 0; i < 5000; ++i)
                text += "ü";
            return text;
        }());
    else if (what == "memory")
        return std::vector<char>(std::numeric_limits<std::ptrdiff_t>::max()).empty() ? 1 : 0;
    else if (what == "length") {
        std::vector<double> numbers;
        numbers.resize(std::numeric_limits<std::size_t>::max());
    } else if (what == "unexpected")
        throw std::runtime_error("a thing of another library");
    else if (what == "request")
        throw gmac::examples::exit_request{7};
    else if (what == "status") {
        fmt::print("a line\n");
        return 130;
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("sample", [&] { return work(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); });
}
