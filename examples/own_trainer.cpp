#include <gmac/distributions.hpp>
#include <gmac/losses.hpp>

#include <fmt/core.h>
#include <Eigen/Core>

#include <cmath>

// A trainer of one's own: a linear model in Eigen and plain gradient descent. The return of a state x is x or -x with equal
// chances, so every state has the mean 0, and only a distribution tells the states apart.
int main() {
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    gmac::heads::gaussian_mixture<2> const head{.scale = 0.01, .floor = 1.0}; // deviations are at least 0.1
    gmac::losses::gaussian_mixture_energy const energy;
    gmac::random_stream random(/*seed*/ 1);

    matrix features(64, 2), returns(64, 1), gradient(64, 6);
    matrix model = matrix::Zero(2, 6); // to two weight logits, two means, two raw deviations
    model.row(0) << 0.0f, 0.0f, -0.1f, 0.1f, 0.0f, 0.0f;
    for (int step = 0; step < 3000; ++step) {
        for (int i = 0; i < features.rows(); ++i) {
            float const x = random.uniform<float>();
            features.row(i) << 1.0f, x;
            returns(i, 0) = random.uniform<float>() < 0.5f ? x : -x;
        }
        matrix const outputs = features * model;
        gmac::targets::dirac_particles const targets{returns}; // one sample of each state's return
        float const loss = energy.value_and_gradient(head, outputs, targets, gradient);
        float const rate = 300.0f / static_cast<float>(600 + step);
        model -= rate * features.transpose() * gradient; // the gradient is that of the mean over the 64 states
        if (!std::isfinite(loss))
            return 1;
    }

    // What the model says of two states.
    matrix states(2, 2), weights(2, 2), means(2, 2), deviations(2, 2);
    states << 1.0f, 0.25f, 1.0f, 0.75f;
    matrix const outputs = states * model;
    head.distribution(outputs, weights, means, deviations);
    for (int i = 0; i < 2; ++i) {
        gmac::gaussian_mixture<float> const z(weights.row(i), means.row(i), deviations.row(i));
        fmt::print("x = {:.2f}: mean {:.2f}, a tenth of the returns is below {:.2f}, a tenth above {:.2f}\n",
                   states(i, 1), z.mean(), z.quantile(0.1f), z.quantile(0.9f));
    }
}
