// SPDX-License-Identifier: Apache-2.0
#pragma once

// The actor-critic: rollouts, the PPO update, training, checkpoints.
#include <gmac/agent/actor_critic.hpp>
#include <gmac/agent/composition.hpp>
#include <gmac/agent/critic_network.hpp>
#include <gmac/agent/explained_variance.hpp>
#include <gmac/agent/exploration.hpp>
#include <gmac/agent/intrinsic_reward.hpp>
#include <gmac/agent/kl_schedule.hpp>
#include <gmac/agent/networks.hpp>
#include <gmac/agent/observer.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/policy.hpp>
#include <gmac/agent/policy_network.hpp>
#include <gmac/agent/random_network_distillation.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/agent/value_network.hpp>
