#include "cliff_walk.hpp"

#include <gmac/train/program.hpp>

int main(int argc, char** argv) {
    return gmac::train::program("my-train").environment<cliff_walk>("mine/cliff").run(argc, argv);
}
