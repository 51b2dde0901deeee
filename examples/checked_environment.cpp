#include <gmac/environment.hpp>

#include <fmt/core.h>

// A coin that is thrown until it shows heads, at most ten times. To stop costs nothing, to go on pays 1 unless it is heads.
struct coin {
    int throws = 0;

    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; } // 0: stop, 1: throw

    void reset(gmac::random_stream&, std::span<float> observation) {
        throws = 0;
        observe(observation);
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        ++throws;
        observe(observation);
        bool const heads = action == 1 && random.uniform<float>() < 0.5f;
        return {.reward = action == 0 ? 0.0
                          : heads     ? -2.0
                                      : 1.0,
                .terminated = action == 0 || heads,
                .truncated = throws == 10};
    }
    void observe(std::span<float> observation) const { observation[0] = static_cast<float>(throws) / 10.0f; }

    // All that it remembers, so that a resumed run goes on in the middle of an episode.
    void persist(gmac::archive& state) { state("throws", throws); }
};

// The same with two slips: it never ends, and what it remembers is not stored.
struct endless_coin : coin {
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        return {.reward = coin::step(action, random, observation).reward};
    }
    void persist(gmac::archive&) {}
};

template <class Environment>
void check(char const* name) {
    fmt::print("{}:\n", name);
    for (auto const& finding : gmac::check_environment<Environment>())
        fmt::print("  {} {}: {}\n", finding.sound ? "ok   " : "WRONG", finding.asked, finding.found);
}

int main() {
    check<coin>("coin");
    check<endless_coin>("endless_coin");
}
