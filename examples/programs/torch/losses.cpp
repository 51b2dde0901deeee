// gmac-torch-losses: a trainer that is written with libtorch learns by a loss of this library.
#include <gmac/distributions.hpp>
#include <gmac/torch/losses.hpp>

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <fmt/core.h>

// The return of a state x in [0, 1] is x or -x, with equal chances.
int main() {
    at::manual_seed(1);
    torch::nn::Sequential network(torch::nn::Linear(1, 32), torch::nn::Tanh(), torch::nn::Linear(32, 6));
    torch::optim::Adam optimizer(network->parameters(), torch::optim::AdamOptions(1e-2));
    gmac::heads::gaussian_mixture<2> const head{.scale = 0.01, .floor = 1.0}; // deviations are at least 0.1

    for (int step = 0; step < 600; ++step) {
        at::Tensor const states = at::rand({64, 1});
        at::Tensor const returns = states * (2 * at::randint(2, {64, 1}) - 1);
        // One sample of each state's return is a particle, a component without a deviation.
        at::Tensor const loss =
            gmac::torch::gaussian_mixture_energy(head, network->forward(states), {returns, at::zeros_like(returns)});
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
    }

    at::Tensor const outputs = network->forward(at::full({1, 1}, 0.75)).detach(), parts = at::empty({3, 2});
    auto const view = [](at::Tensor const& tensor) {
        return gmac::matrix_view(tensor.data_ptr<float>(), 1, static_cast<std::size_t>(tensor.numel()));
    };
    head.distribution(view(outputs), view(parts[0]), view(parts[1]), view(parts[2]));
    gmac::gaussian_mixture<float> const z(view(parts[0]).row(0), view(parts[1]).row(0), view(parts[2]).row(0));
    fmt::print("x = 0.75: a tenth of the returns is below {:.2f}, a tenth above {:.2f}\n", z.quantile(0.1f),
               z.quantile(0.9f));
}
