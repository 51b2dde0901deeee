// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/read_value.hpp"

#include <gmac/train/registry.hpp>
#include <gmac/train/settings.hpp>

#include <nlohmann/json_fwd.hpp>

#include <array>
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
template <>
inline constexpr std::array<named<gmac::train::curiosity>, 5> names_of<gmac::train::curiosity>{
    {{"none", gmac::train::curiosity::none},
     {"td_error", gmac::train::curiosity::td_error},
     {"energy_distance", gmac::train::curiosity::energy_distance},
     {"cramer_distance", gmac::train::curiosity::cramer_distance},
     {"rnd", gmac::train::curiosity::random_network_distillation}}};

} // namespace gmac::examples

/// The programs around gmac::train, whose names are all seen here.
namespace gmac::examples::train {

using namespace gmac::train;

/// visit(group, name, field, help) for each field, in the order of the help text. The one list of them: the command line, the
/// configuration file and the checkpoint are made from it.
template <class Visit>
void describe(settings& all, Visit&& visit) {
    visit("Run", "frames", all.frames, "environment steps in all");
    visit("Run", "seed", all.seed, "every random choice follows from it");
    visit("Run", "envs", all.environments, "environments stepped together");
    visit("Run", "eval-every", all.eval_every,
          "evaluates after each so many frames, by the most likely actions in environments of its own, into "
          "evaluations.csv, and keeps the best policy as best_policy.safetensors; 0: never");
    visit("Run", "eval-episodes", all.eval_episodes, "of such an evaluation");
    visit("Run", "target-return", all.target_return,
          "ends the run when the mean return of such an evaluation reaches it, or without them that of the last 100 "
          "episodes");
    visit("Learning", "steps", all.agent.steps, "steps of a rollout in each environment");
    visit("Learning", "minibatch", all.agent.minibatch, "states in a gradient step");
    visit("Learning", "epochs", all.agent.epochs, "passes over a rollout");
    visit("Learning", "learning-rate", all.agent.learning_rate, "of the optimiser");
    visit("Learning", "schedule", all.agent.schedule,
          "of the learning rate: constant, linear (to zero over the run) or kl (by 1.5 up or down after an epoch "
          "whose divergence is below half or above twice the target)");
    visit("Learning", "target-kl", all.agent.target_kl, "KL divergence from the policy of the rollout");
    visit("Learning", "learning-rate-minimum", all.agent.learning_rate_minimum, "of the schedule kl");
    visit("Learning", "learning-rate-maximum", all.agent.learning_rate_maximum, "of the schedule kl");
    visit("Learning", "early-stop", all.agent.early_stop,
          "ends the epochs of an update at a minibatch whose divergence is above 1.5 times target-kl");
    visit("Learning", "optimiser", all.agent.optimiser, "adam or rmsprop");
    visit("Learning", "optimiser-epsilon", all.agent.optimiser_epsilon, "added to the root of the second moment");
    visit("Learning", "discount", all.agent.discount, "gamma, in [0, 1]");
    visit("Learning", "lambda", all.agent.lambda, "of the advantages and of SR(lambda), in [0, 1]");
    visit("Learning", "statistic", all.statistic,
          "of the value distribution, which advantages are made of: mean, or with its parameter cvar:0.1, "
          "upper_cvar:0.1, wang:-0.75, power:-2, mean_minus_deviations:1 or quantile:0.25; or cvar:0.05..1 and so on, "
          "drawn for each episode: one policy learns to act by all of them; see docs/mathematics.md");
    visit("Learning", "clip", all.agent.clip, "range of the probability ratio around 1");
    visit("Learning", "value-coefficient", all.agent.value_coefficient, "weight of the value loss");
    visit("Learning", "entropy-coefficient", all.agent.entropy_coefficient, "weight of the policy's entropy");
    visit("Learning", "max-gradient-norm", all.agent.max_gradient_norm,
          "gradients are scaled down to it; by default 5 for gmac and 0.5 for the others");
    visit("Learning", "clip-networks-separately", all.agent.clip_networks_separately,
          "the actor's gradient and the critic's each by itself; for separate trunks");
    visit("Learning", "normalize-advantages", all.agent.normalize_advantages, "in each minibatch");
    visit("Learning", "shards", all.agent.shards,
          "parts of the states of a minibatch, which threads share; 0: a task for each 32 states");
    visit("Network", "hidden", all.agent.hidden, "widths of the layers, separated by commas");
    visit("Network", "activation", all.agent.activation, "tanh or relu");
    visit("Network", "shared-trunk", all.agent.shared_trunk, "one trunk for actor and critic, or one each");
    visit("Network", "trunk-gain", all.agent.trunk_gain, "of the orthogonal initialisation");
    visit("Network", "actor-gain", all.agent.actor_gain, "the same for the actor's layer");
    visit("Network", "value-gain", all.agent.value_gain, "the same for the value head");
    visit("Value distribution", "particles", all.agent.particles, "of an SR(lambda) target");
    visit("Value distribution", "replacement", all.agent.replacement,
          "of these particles: independent, or stratified, by which the targets vary less");
    visit("Value distribution", "variance-scale", all.variance_scale, "gmac: variance = scale (softplus(x) + floor)");
    visit("Value distribution", "variance-floor", all.variance_floor, "gmac: see variance-scale");
    visit("Value distribution", "quantile-samples", all.quantile_samples,
          "iqac, iqac_e: fractions drawn for a state, which are its samples of the return");
    visit("Value distribution", "quantile-embedding", all.quantile_embedding,
          "iqac, iqac_e: cosines that a fraction is embedded in");
    visit("Value distribution", "quantile-hidden", all.quantile_hidden,
          "iqac, iqac_e: units between features times embedding and the quantile");
    visit("Value distribution", "atom-minimum", all.atom_minimum,
          "c51, hl_gauss, categorical_energy: the lowest of the 51 atoms, units of the (normalised) return");
    visit("Value distribution", "atom-maximum", all.atom_maximum, "the highest one");
    visit("Value distribution", "atom-symlog", all.atom_symlog, "atoms evenly spaced in sign(z) log(1 + |z|)");
    visit("Value distribution", "histogram-deviation", all.histogram_deviation,
          "hl_gauss: of the Gaussian that a target is smoothed by, in distances of two atoms");
    visit("Value distribution", "critics", all.critics,
          "further methods, separated by commas, that learn the value of the same policy and have no say in it");
    visit(
        "Exploration", "intrinsic", all.intrinsic,
        "what is rewarded besides the environment's rewards: none; energy_distance or cramer_distance, the root of its "
        "half, of the value distribution from its one-step target; td_error, the same of the value; rnd, random "
        "network distillation");
    visit("Exploration", "intrinsic-coefficient", all.exploration.coefficient, "of the advantages of these rewards");
    visit("Exploration", "extrinsic-coefficient", all.exploration.extrinsic_coefficient,
          "of the advantages of the environment's rewards then");
    visit("Exploration", "intrinsic-discount", all.exploration.discount,
          "of these rewards, whose returns go on where an episode ends; in [0, 1)");
    visit("Exploration", "rnd-features", all.distillation.features, "outputs of the two networks");
    visit("Exploration", "rnd-learning-rate", all.distillation.learning_rate, "of the one that learns");
    visit("Exploration", "rnd-epochs", all.distillation.epochs, "of the same, over a rollout");
    visit("Policy", "state-dependent-deviation", all.state_dependent_deviation,
          "continuous actions: the deviation comes from the network, or is one free parameter an action");
    visit(
        "Policy", "state-dependent-exploration", all.state_dependent_exploration,
        "gSDE instead (Raffin et al. 2021): noise that is a function of the state, linear in the features of the trunk, with "
        "a free parameter for each and each action");
    visit("Policy", "noise-steps", all.noise_steps, "for which this noise stays the same function; 0: a whole rollout");
    visit("Policy", "deviation-floor", all.deviation_floor,
          "deviation = sqrt(softplus(x) + floor^2), from the network");
    visit("Policy", "initial-deviation", all.initial_deviation,
          "of the free parameter, or of gSDE where all features are 1");
    visit("Environment", "normalize-observations", all.normalize_observations, "by running statistics, clipped at 10");
    visit("Environment", "normalize-rewards", all.normalize_rewards,
          "by the running deviation of the discounted return, clipped at 10");
    visit("Robots", "pushes", all.pushes,
          "impulse in N s by which the torso is pushed in a random direction, in one of a hundred steps; 0: never");
    visit("Windy cliff", "exploring-starts", all.exploring_starts,
          "share of the episodes in training that begin at any height");
    visit("Environments of your own", "env-options", all.environment_options, "text that it is given");
    visit("Images", "trunk", all.trunk,
          "conv:FILTERSxKERNELxSTRIDE for each convolution, then widths in place of --hidden; by default the "
          "paper's convolutions for Atari games and conv:16x3x1 for MinAtar");
    visit("Atari and MinAtar games", "sticky", all.sticky,
          "probability that a frame repeats the action of the frame before; 0.1 for MinAtar");
    visit("Atari and MinAtar games", "full-action-set", all.full_action_set,
          "all actions, 18 or 6, or those that the game knows");
    visit("MinAtar games", "ramping", all.ramping, "the game becomes harder as it goes on");
    visit("Atari games", "rom", all.rom, "file of the game's ROM");
    visit("Atari games", "preprocessing", all.preprocessing, "paper, machado2018 or ale_vector");
    visit("Atari games", "mode", all.mode, "of the game");
    visit("Atari games", "difficulty", all.difficulty, "of the game");
}

/// Whether this is a file, a shared library or a program, and no name; an absolute path in the settings of a run.
[[nodiscard]] bool is_file(std::string_view environment);

/// The environment of this name. Throws gmac::error, with the list of what is known, unless there is one.
[[nodiscard]] environment_entry const& find_environment(registry const& known, std::string const& name);
/// The names that `--env` takes, as lists show them.
[[nodiscard]] std::vector<std::string> environment_names(registry const& known);
/// The names that `--preset` takes.
[[nodiscard]] std::vector<std::string> preset_names(registry const& known);
/// The names that `--algorithm` takes.
[[nodiscard]] std::vector<std::string> algorithm_names(registry const& known);
/// Whether options of this group go with the environment.
[[nodiscard]] bool group_fits(registry const& known, std::string_view group, std::string const& environment);
/// Whether they go with any environment of the program.
[[nodiscard]] bool group_fits_one(registry const& known, std::string_view group);

/// The methods in settings.critics. Throws gmac::error for an empty name and for one that is there twice.
[[nodiscard]] std::vector<std::string> critics_of(settings const& settings);

/// Fails with the list of what is known unless `name` is in it.
void require_known(std::string_view what, std::string_view name, std::span<std::string const> known);

/// The settings that an environment has by default, where the algorithm may matter. Throws gmac::error if the environment is
/// not known.
[[nodiscard]] settings default_settings(registry const& known, std::string const& environment,
                                        std::string const& algorithm);
/// The settings of a named preset. Throws gmac::error if it is not known.
[[nodiscard]] settings preset_settings(registry const& known, std::string const& preset);

/// Gives each option of the environment a value, and the settings what its entry says of images. Throws gmac::error for an
/// option that it has not, and for a value that is none.
void complete(registry const& known, settings& all);

/// Throws gmac::error that names the option and says what is allowed, unless a run can have these settings.
void validate(registry const& known, settings const& all);

[[nodiscard]] nlohmann::ordered_json to_json(settings all);
/// A field that is missing has its default. Throws gmac::error for one that is unknown, and for values that the command
/// line would refuse.
[[nodiscard]] settings from_json(registry const& known, nlohmann::ordered_json const& json);

} // namespace gmac::examples::train
