// SPDX-License-Identifier: Apache-2.0
#include "onednn.hpp"

#include <dnnl.hpp>

#include <algorithm>
#include <unordered_map>

namespace gmac::bench::onednn {

std::function<void()> convolution(std::size_t images, std::size_t channels, std::size_t size, std::size_t filters,
                                  std::size_t kernel, std::size_t stride) {
    using dnnl::memory;
    auto const n = [](std::size_t x) { return static_cast<memory::dim>(x); };
    auto const any = [](memory::dims const& dims) {
        return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
    };
    memory::dim const out = n((size - kernel) / stride + 1);
    dnnl::engine const engine(dnnl::engine::kind::cpu, 0);
    dnnl::post_ops relu;
    relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(relu);
    dnnl::convolution_forward::primitive_desc const description({dnnl::prop_kind::forward_inference,
                                                                 dnnl::algorithm::convolution_direct,
                                                                 any({n(images), n(channels), n(size), n(size)}),
                                                                 any({n(filters), n(channels), n(kernel), n(kernel)}),
                                                                 any({n(filters)}),
                                                                 any({n(images), n(filters), out, out}),
                                                                 memory::dims{n(stride), n(stride)}, memory::dims{0, 0},
                                                                 memory::dims{0, 0}},
                                                                attributes, engine);
    auto const filled = [&](memory::desc const& shape) {
        memory m(shape, engine);
        std::fill_n(static_cast<float*>(m.get_data_handle()), shape.get_size() / sizeof(float), 0.5f);
        return m;
    };
    std::unordered_map<int, memory> const arguments{{DNNL_ARG_SRC, filled(description.src_desc())},
                                                    {DNNL_ARG_WEIGHTS, filled(description.weights_desc())},
                                                    {DNNL_ARG_BIAS, filled(description.bias_desc())},
                                                    {DNNL_ARG_DST, filled(description.dst_desc())}};
    return [pass = dnnl::convolution_forward(description), stream = dnnl::stream(engine), arguments]() mutable {
        pass.execute(stream, arguments);
        stream.wait();
    };
}

} // namespace gmac::bench::onednn
