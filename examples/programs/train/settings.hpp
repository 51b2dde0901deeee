// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/read_value.hpp"

#include <gmac/agent/options.hpp>
#include <gmac/agent/random_network_distillation.hpp>
#include <gmac/statistics/statistic_range.hpp>

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples {

template <>
inline constexpr std::array<named<rate_schedule>, 3> names_of<rate_schedule>{
    {{"constant", rate_schedule::constant}, {"linear", rate_schedule::linear}, {"kl", rate_schedule::kl}}};
template <>
inline constexpr std::array<named<targets::resampling>, 2> names_of<targets::resampling>{
    {{"independent", targets::resampling::independent}, {"stratified", targets::resampling::stratified}}};
template <>
inline constexpr std::array<named<optimiser_kind>, 2> names_of<optimiser_kind>{
    {{"adam", optimiser_kind::adam}, {"rmsprop", optimiser_kind::rmsprop}}};
template <>
inline constexpr std::array<named<nn::activation>, 2> names_of<nn::activation>{
    {{"tanh", nn::activation::tanh}, {"relu", nn::activation::relu}}};

} // namespace gmac::examples

namespace gmac::examples::train {

/// What an agent is rewarded for besides what the environment gives; see gmac/agent/exploration.hpp.
enum class curiosity { none, td_error, energy_distance, cramer_distance, random_network_distillation };

} // namespace gmac::examples::train

namespace gmac::examples {

template <>
inline constexpr std::array<named<train::curiosity>, 5> names_of<train::curiosity>{
    {{"none", train::curiosity::none},
     {"td_error", train::curiosity::td_error},
     {"energy_distance", train::curiosity::energy_distance},
     {"cramer_distance", train::curiosity::cramer_distance},
     {"rnd", train::curiosity::random_network_distillation}}};

} // namespace gmac::examples

namespace gmac::examples::train {

/// Everything that decides what a run computes. `describe` is the one list of these fields: the command line, the
/// configuration file and the checkpoint are made from it.
struct settings {
    std::string environment;
    std::string algorithm = "gmac";
    std::uint64_t frames = 0;
    std::uint64_t seed = 1;
    std::size_t environments = 1;
    std::uint64_t eval_every = 0; ///< frames; 0: never
    std::size_t eval_episodes = 10;
    std::optional<double> target_return{};
    agent_options agent; ///< its member `exploration` is set from the three below
    curiosity intrinsic = curiosity::none;
    exploration_options exploration;
    random_network_distillation_options distillation;
    std::string statistic = "mean";        ///< of statistic_of
    bool state_dependent_deviation = true; ///< the policy's deviation from the network, or one free parameter an action
    double deviation_floor = 0.25;         ///< deviation = sqrt(softplus(x) + floor²), if it depends on the state
    double initial_deviation = 1.0;        ///< otherwise
    double variance_scale = 0.05 * 0.05;   ///< of the mixture head, squared units of the (normalised) return
    double variance_floor = 1.0;
    std::size_t quantile_samples = 64;   ///< N, fractions of the implicit quantile head
    std::size_t quantile_embedding = 64; ///< cosines of a fraction
    std::size_t quantile_hidden = 256;   ///< units of its hidden layer
    double atom_minimum = -10.0;         ///< of the categorical head, in units of the (normalised) return
    double atom_maximum = 10.0;
    bool atom_symlog = false;
    double histogram_deviation = 0.75; ///< of HL-Gauss, in widths of a bin
    bool normalize_observations = false;
    bool normalize_rewards = false;
    double pushes = 0.0;             ///< N s, of the robots
    double exploring_starts = 0.0;   ///< share of the episodes, of the windy cliff
    std::string environment_options; ///< text for an environment of one's own
    std::string critics;             ///< methods with a comma between two of them
    // For images.
    std::string trunk;              ///< of read_trunk; without a value the environment decides
    std::optional<double> sticky{}; ///< likewise, and for Atari games the preprocessing
    std::optional<bool> full_action_set{};
    bool ramping = true; ///< of MinAtar
    // For Atari games.
    std::string rom; ///< absolute path
    std::string preprocessing = "paper";
    std::optional<int> mode{};
    int difficulty = 0;

    /// visit(group, name, field, help) for each field, in the order of the help text.
    template <class Visit>
    void describe(Visit&& visit) {
        visit("Run", "frames", frames, "environment steps in all");
        visit("Run", "seed", seed, "every random choice follows from it");
        visit("Run", "envs", environments, "environments stepped together");
        visit("Run", "eval-every", eval_every,
              "evaluates after each so many frames, by the most likely actions in environments of its own, into "
              "evaluations.csv, and keeps the best policy as best_policy.safetensors; 0: never");
        visit("Run", "eval-episodes", eval_episodes, "of such an evaluation");
        visit(
            "Run", "target-return", target_return,
            "ends the run when the mean return of such an evaluation reaches it, or without them that of the last 100 "
            "episodes");
        visit("Learning", "steps", agent.steps, "steps of a rollout in each environment");
        visit("Learning", "minibatch", agent.minibatch, "states in a gradient step");
        visit("Learning", "epochs", agent.epochs, "passes over a rollout");
        visit("Learning", "learning-rate", agent.learning_rate, "of the optimiser");
        visit("Learning", "schedule", agent.schedule,
              "of the learning rate: constant, linear (to zero over the run) or kl (by 1.5 up or down after an epoch "
              "whose divergence is below half or above twice the target)");
        visit("Learning", "target-kl", agent.target_kl, "KL divergence from the policy of the rollout");
        visit("Learning", "learning-rate-minimum", agent.learning_rate_minimum, "of the schedule kl");
        visit("Learning", "learning-rate-maximum", agent.learning_rate_maximum, "of the schedule kl");
        visit("Learning", "early-stop", agent.early_stop,
              "ends the epochs of an update at a minibatch whose divergence is above 1.5 times target-kl");
        visit("Learning", "optimiser", agent.optimiser, "adam or rmsprop");
        visit("Learning", "optimiser-epsilon", agent.optimiser_epsilon, "added to the root of the second moment");
        visit("Learning", "discount", agent.discount, "gamma, in [0, 1]");
        visit("Learning", "lambda", agent.lambda, "of the advantages and of SR(lambda), in [0, 1]");
        visit(
            "Learning", "statistic", statistic,
            "of the value distribution, which advantages are made of: mean, or with its parameter cvar:0.1, "
            "upper_cvar:0.1, wang:-0.75, power:-2, mean_minus_deviations:1 or quantile:0.25; or cvar:0.05..1 and so on, "
            "drawn for each episode: one policy learns to act by all of them; see docs/mathematics.md");
        visit("Learning", "clip", agent.clip, "range of the probability ratio around 1");
        visit("Learning", "value-coefficient", agent.value_coefficient, "weight of the value loss");
        visit("Learning", "entropy-coefficient", agent.entropy_coefficient, "weight of the policy's entropy");
        visit("Learning", "max-gradient-norm", agent.max_gradient_norm,
              "gradients are scaled down to it; by default 5 for gmac and 0.5 for the others");
        visit("Learning", "clip-networks-separately", agent.clip_networks_separately,
              "the actor's gradient and the critic's each by itself; for separate trunks");
        visit("Learning", "normalize-advantages", agent.normalize_advantages, "in each minibatch");
        visit("Learning", "shards", agent.shards, "parts of a minibatch that threads share; 0: one for each 32 states");
        visit("Network", "hidden", agent.hidden, "widths of the layers, separated by commas");
        visit("Network", "activation", agent.activation, "tanh or relu");
        visit("Network", "shared-trunk", agent.shared_trunk, "one trunk for actor and critic, or one each");
        visit("Network", "trunk-gain", agent.trunk_gain, "of the orthogonal initialisation");
        visit("Network", "actor-gain", agent.actor_gain, "the same for the actor's layer");
        visit("Network", "value-gain", agent.value_gain, "the same for the value head");
        visit("Value distribution", "particles", agent.particles, "of an SR(lambda) target");
        visit("Value distribution", "replacement", agent.replacement,
              "of these particles: independent, or stratified, by which the targets vary less");
        visit("Value distribution", "variance-scale", variance_scale, "gmac: variance = scale (softplus(x) + floor)");
        visit("Value distribution", "variance-floor", variance_floor, "gmac: see variance-scale");
        visit("Value distribution", "quantile-samples", quantile_samples,
              "iqac, iqac_e: fractions drawn for a state, which are its samples of the return");
        visit("Value distribution", "quantile-embedding", quantile_embedding,
              "iqac, iqac_e: cosines that a fraction is embedded in");
        visit("Value distribution", "quantile-hidden", quantile_hidden,
              "iqac, iqac_e: units between features times embedding and the quantile");
        visit("Value distribution", "atom-minimum", atom_minimum,
              "c51, hl_gauss, categorical_energy: the lowest of the 51 atoms, units of the (normalised) return");
        visit("Value distribution", "atom-maximum", atom_maximum, "the highest one");
        visit("Value distribution", "atom-symlog", atom_symlog, "atoms evenly spaced in sign(z) log(1 + |z|)");
        visit("Value distribution", "histogram-deviation", histogram_deviation,
              "hl_gauss: of the Gaussian that a target is smoothed by, in distances of two atoms");
        visit("Value distribution", "critics", critics,
              "further methods, separated by commas, that learn the value of the same policy and have no say in it");
        visit(
            "Exploration", "intrinsic", intrinsic,
            "what is rewarded besides the environment's rewards: none; energy_distance or cramer_distance, the root of its "
            "half, of the value distribution from its one-step target; td_error, the same of the value; rnd, random "
            "network distillation");
        visit("Exploration", "intrinsic-coefficient", exploration.coefficient, "of the advantages of these rewards");
        visit("Exploration", "extrinsic-coefficient", exploration.extrinsic_coefficient,
              "of the advantages of the environment's rewards then");
        visit("Exploration", "intrinsic-discount", exploration.discount,
              "of these rewards, whose returns go on where an episode ends; in [0, 1)");
        visit("Exploration", "rnd-features", distillation.features, "outputs of the two networks");
        visit("Exploration", "rnd-learning-rate", distillation.learning_rate, "of the one that learns");
        visit("Exploration", "rnd-epochs", distillation.epochs, "of the same, over a rollout");
        visit("Policy", "state-dependent-deviation", state_dependent_deviation,
              "continuous actions: the deviation comes from the network, or is one free parameter an action");
        visit("Policy", "deviation-floor", deviation_floor,
              "deviation = sqrt(softplus(x) + floor^2), from the network");
        visit("Policy", "initial-deviation", initial_deviation, "of the free parameter");
        visit("Environment", "normalize-observations", normalize_observations, "by running statistics, clipped at 10");
        visit("Environment", "normalize-rewards", normalize_rewards,
              "by the running deviation of the discounted return, clipped at 10");
        visit("Robots", "pushes", pushes,
              "impulse in N s by which the torso is pushed in a random direction, in one of a hundred steps; 0: never");
        visit("Windy cliff", "exploring-starts", exploring_starts,
              "share of the episodes in training that begin at any height");
        visit("Environments of your own", "env-options", environment_options, "text that it is given");
        visit("Atari and MinAtar games", "trunk", trunk,
              "conv:FILTERSxKERNELxSTRIDE for each convolution, then widths in place of --hidden; by default the "
              "paper's convolutions for Atari games and conv:16x3x1 for MinAtar");
        visit("Atari and MinAtar games", "sticky", sticky,
              "probability that a frame repeats the action of the frame before; 0.1 for MinAtar");
        visit("Atari and MinAtar games", "full-action-set", full_action_set,
              "all actions, 18 or 6, or those that the game knows");
        visit("MinAtar games", "ramping", ramping, "the game becomes harder as it goes on");
        visit("Atari games", "rom", rom, "file of the game's ROM");
        visit("Atari games", "preprocessing", preprocessing, "paper, machado2018 or ale_vector");
        visit("Atari games", "mode", mode, "of the game");
        visit("Atari games", "difficulty", difficulty, "of the game");
    }
};

/// The environments that `--env` takes, besides Atari games; N stands for a size.
[[nodiscard]] std::span<std::string_view const> environment_names();
/// Throws gmac::error, with the list of what is known, unless there is an environment of this name.
void require_environment(std::string const& name);
/// The N of classic/deep_sea:N and classic/deep_sea_stochastic:N. Throws gmac::error if it is no number.
[[nodiscard]] std::optional<std::size_t> deep_sea_size(std::string const& environment);
/// Whether this is a file, a shared library or a program, and no name; an absolute path in the settings of a run.
[[nodiscard]] bool is_file(std::string_view environment);
/// Whether this is the name of an Atari game, ale/GAME.
[[nodiscard]] bool is_atari(std::string_view environment);
/// The GAME of ale/GAME.
[[nodiscard]] std::string atari_game(std::string_view environment);
/// Whether this is the name of a game of MinAtar, minatar/GAME.
[[nodiscard]] bool is_minatar(std::string_view environment);
/// The GAME of minatar/GAME.
[[nodiscard]] std::string minatar_game(std::string_view environment);
/// Whether observations are images of bytes.
[[nodiscard]] bool sees_images(std::string_view environment);
/// Whether options of this group go with the environment.
[[nodiscard]] bool group_fits(std::string_view group, std::string_view environment);
/// The names that `--preset` takes.
[[nodiscard]] std::span<std::string_view const> preset_names();

/// The methods in settings.critics. Throws gmac::error for an empty name and for one that is there twice.
[[nodiscard]] std::vector<std::string> critics_of(settings const& settings);

/// The statistic in settings.statistic: NAME or NAME:PARAMETER, whose `low` and `high` are the same, or NAME:LOW..HIGH. Throws
/// gmac::error if it is none, or outside its range.
[[nodiscard]] statistic_range statistic_of(settings const& settings);
/// Whether the agent is told of a parameter by the last number of its observations.
[[nodiscard]] inline bool learns_a_range(settings const& settings) {
    statistic_range const wanted = statistic_of(settings);
    return wanted.low < wanted.high;
}

/// Fails with the list of what is known unless `name` is in it.
void require_known(std::string_view what, std::string_view name, std::span<std::string_view const> known);

/// The settings that an environment has by default: the paper's for its family, or our own for the classic ones, where
/// the algorithm matters. Throws gmac::error if the environment is not known.
[[nodiscard]] settings default_settings(std::string const& environment, std::string const& algorithm);
/// The settings of a named preset. Throws gmac::error if it is not known.
[[nodiscard]] settings preset_settings(std::string const& preset);

/// Throws gmac::error that names the option and says what is allowed, unless a run can have these settings.
void validate(settings const& all);

[[nodiscard]] nlohmann::ordered_json to_json(settings all);
/// A field that is missing has its default. Throws gmac::error for one that is unknown, and for values that the command
/// line would refuse.
[[nodiscard]] settings from_json(nlohmann::ordered_json const& json);

} // namespace gmac::examples::train
