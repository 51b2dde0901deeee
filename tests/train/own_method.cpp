// SPDX-License-Identifier: Apache-2.0
// A method of one's own, in a file of its own: a mixture of three Gaussians.
#include <gmac/train/method.hpp>

gmac::train::method three();

gmac::train::method three() {
    using agent = gmac::actor_critic<gmac::train::fitting_actor, gmac::heads::gaussian_mixture<3>,
                                     gmac::losses::gaussian_mixture_energy>;
    return gmac::train::method_of<agent>("three");
}
