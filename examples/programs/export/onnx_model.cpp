// SPDX-License-Identifier: Apache-2.0
#include "onnx_model.hpp"

#include <gmac/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gmac::examples::exporting {

namespace {

// The fields of onnx.proto that are used here, and the values of its enumerations.
namespace field {
using tag = protozero::pbf_tag_type;
namespace model {
constexpr tag ir_version = 1, producer = 2, producer_version = 3, graph = 7, operators = 8, metadata = 14;
}
namespace operator_set {
constexpr tag version = 2;
}
namespace entry {
constexpr tag key = 1, value = 2;
}
namespace graph {
constexpr tag node = 1, name = 2, constant = 5, input = 11, output = 12;
}
namespace node {
constexpr tag input = 1, output = 2, name = 3, operation = 4, attribute = 5;
}
namespace attribute {
constexpr tag name = 1, integer = 3, integers = 8, type = 20;
}
namespace tensor {
constexpr tag sizes = 1, type = 2, name = 8, bytes = 9;
}
namespace value {
constexpr tag name = 1, type = 2, description = 3;
}
namespace type {
constexpr tag tensor = 1;
}
namespace tensor_type {
constexpr tag element = 1, shape = 2;
}
namespace shape {
constexpr tag size = 1;
}
namespace size {
constexpr tag number = 1, name = 2;
}
} // namespace field

enum class element : std::int32_t { floats = 1, bytes = 2, whole = 7 };
constexpr std::int32_t one_integer = 2, many_integers = 7;
constexpr std::int64_t ir_version = 7; // came with the operators' version

using sizes = std::vector<std::int64_t>;
[[nodiscard]] std::int64_t whole(std::size_t size) {
    return static_cast<std::int64_t>(size);
}

/// A graph, node by node. Each value has a name; the nodes' are those of what they give.
class graph_writer {
public:
    template <class T>
    std::string constant(std::string const& name, element type, sizes const& shape, std::span<T const> all) {
        static_assert(std::endian::native == std::endian::little);
        protozero::pbf_writer graph(bytes_), tensor(graph, field::graph::constant);
        tensor.add_packed_int64(field::tensor::sizes, shape.begin(), shape.end());
        tensor.add_int32(field::tensor::type, static_cast<std::int32_t>(type));
        tensor.add_string(field::tensor::name, name);
        tensor.add_bytes(field::tensor::bytes, reinterpret_cast<char const*>(all.data()), all.size_bytes());
        return name;
    }
    std::string constant(std::string const& name, sizes const& shape, std::vector<float> const& all) {
        return constant(name, element::floats, shape, std::span<float const>(all));
    }
    std::string constant(std::string const& name, float number) {
        return constant(name, element::floats, {}, std::span<float const>(&number, 1));
    }

    using attributes = std::initializer_list<std::pair<char const*, std::int64_t>>;
    using lists = std::initializer_list<std::pair<char const*, sizes>>;
    std::string node(char const* operation, std::vector<std::string> const& inputs, std::string const& output,
                     attributes ones = {}, lists many = {}) {
        node(operation, inputs, std::vector{output}, ones, many);
        return output;
    }
    void node(char const* operation, std::vector<std::string> const& inputs, std::vector<std::string> const& outputs,
              attributes ones = {}, lists many = {}) {
        protozero::pbf_writer graph(bytes_), node(graph, field::graph::node);
        for (std::string const& input : inputs)
            node.add_string(field::node::input, input);
        for (std::string const& output : outputs)
            node.add_string(field::node::output, output);
        node.add_string(field::node::name, outputs.front());
        node.add_string(field::node::operation, operation);
        for (auto const& [name, number] : ones) {
            protozero::pbf_writer attribute(node, field::node::attribute);
            attribute.add_string(field::attribute::name, name);
            attribute.add_int64(field::attribute::integer, number);
            attribute.add_enum(field::attribute::type, one_integer);
        }
        for (auto const& [name, numbers] : many) {
            protozero::pbf_writer attribute(node, field::node::attribute);
            attribute.add_string(field::attribute::name, name);
            for (std::int64_t const number : numbers)
                attribute.add_int64(field::attribute::integers, number);
            attribute.add_enum(field::attribute::type, many_integers);
        }
    }

    /// An input or output of the graph, a row for each observation of a batch of any size.
    void border(field::tag which, std::string_view name, element type, sizes const& shape,
                std::string_view description) {
        protozero::pbf_writer graph(bytes_), value(graph, which);
        value.add_string(field::value::name, name.data(), name.size());
        {
            protozero::pbf_writer outer(value, field::value::type), tensor(outer, field::type::tensor);
            tensor.add_int32(field::tensor_type::element, static_cast<std::int32_t>(type));
            protozero::pbf_writer dimensions(tensor, field::tensor_type::shape);
            {
                protozero::pbf_writer batch(dimensions, field::shape::size);
                batch.add_string(field::size::name, "batch");
            }
            for (std::int64_t const size : shape) {
                protozero::pbf_writer one(dimensions, field::shape::size);
                one.add_int64(field::size::number, size);
            }
        }
        value.add_string(field::value::description, description.data(), description.size());
    }
    void name(std::string const& name) { protozero::pbf_writer(bytes_).add_string(field::graph::name, name); }

    [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

class policy_writer {
public:
    policy_writer(policy_layers const& policy, bool distribution, value_layers const* value)
        : policy_(policy), distribution_(distribution), critic_(value) {}

    [[nodiscard]] std::string write() && {
        graph_.name("policy");
        observe();
        std::size_t common = 0; // layers of actor and critic
        if (critic_)
            while (common + 1 < policy_.layers.size() && common < critic_->layers.size() &&
                   policy_.layers[common] == critic_->layers[common])
                ++common;
        add_layers(policy_.layers, 0, common);
        std::pair const shared(value_, channels_first_);
        add_layers(policy_.layers, common, policy_.layers.size());
        if (auto const* const bounds = std::get_if<box>(&policy_.action_space))
            act_really(*bounds);
        else if (auto const* const several = std::get_if<multi_discrete>(&policy_.action_space))
            act_severally(several->counts);
        else
            act_discretely();
        if (critic_) {
            std::tie(value_, channels_first_) = shared;
            part_ = "value_layer";
            add_layers(critic_->layers, common, critic_->layers.size());
            expect();
        }
        return model();
    }

private:
    [[nodiscard]] std::string named(char const* what) const { return fmt::format("{}_{}_{}", part_, number_, what); }

    void observe() {
        auto const* const image = std::get_if<pixels>(&policy_.layers.front());
        if (critic_)
            require(critic_->observation_size == policy_.observation_size &&
                        (!image || critic_->layers.front() == policy_.layers.front()),
                    "policy and value are of different runs: they see different observations");
        if (!image) {
            graph_.border(field::graph::input, value_, element::floats, {whole(policy_.observation_size)},
                          "what the policy sees, not normalised");
            return;
        }
        auto const& [height, width, channels] = image->shape;
        graph_.border(field::graph::input, value_, element::bytes,
                      image->channels_first ? sizes{whole(channels), whole(height), whole(width)}
                                            : sizes{whole(height), whole(width), whole(channels)},
                      image->channels_first ? "channels, height, width" : "height, width, channels");
    }

    void add_layers(std::vector<layer> const& layers, std::size_t first, std::size_t last) {
        for (number_ = first; number_ < last; ++number_)
            std::visit([&](auto const& of_kind) { add(of_kind); }, layers[number_]);
    }

    void add(normalisation const& one) {
        sizes const shape{whole(one.mean.size())};
        value_ = graph_.node("Sub", {value_, graph_.constant(named("mean"), shape, one.mean)}, named("centred"));
        value_ = graph_.node("Sub", {value_, graph_.constant(named("mean_rest"), shape, one.rest)}, named("rest"));
        value_ = graph_.node("Mul", {value_, graph_.constant(named("scale"), shape, one.scale)}, named("scaled"));
        if (std::isfinite(one.clip))
            value_ = graph_.node("Clip",
                                 {value_, graph_.constant(named("least"), -one.clip),
                                  graph_.constant(named("most"), one.clip)},
                                 named("clipped"));
    }

    void add(pixels const& one) {
        bool const first = one.channels_first;
        value_ = graph_.node("Cast", {value_}, named("floats"), {{"to", static_cast<std::int64_t>(element::floats)}});
        value_ = graph_.node("Mul", {value_, graph_.constant(named("scale"), one.scale)}, named("scaled"));
        if (!first)
            value_ = graph_.node("Transpose", {value_}, named("channels_first"), {}, {{"perm", {0, 3, 1, 2}}});
        channels_first_ = true;
    }

    void add(convolution const& one) {
        std::size_t const kernel = one.shape.kernel, channels = one.shape.input.channels, filters = one.of.outputs;
        std::vector<float> weight(one.of.weight.size()); // [filters, channels, kernel, kernel]
        for (std::size_t pixel = 0; pixel < kernel * kernel; ++pixel)
            for (std::size_t c = 0; c < channels; ++c)
                for (std::size_t j = 0; j < filters; ++j)
                    weight[(j * channels + c) * kernel * kernel + pixel] =
                        one.of.weight[(pixel * channels + c) * filters + j];
        sizes const window{whole(kernel), whole(kernel)}, strides{whole(one.shape.stride), whole(one.shape.stride)};
        value_ = graph_.node("Conv",
                             {value_,
                              graph_.constant(named("weight"), {whole(filters), whole(channels), window[0], window[1]},
                                              weight),
                              graph_.constant(named("bias"), {whole(filters)}, one.of.bias)},
                             named("convolved"), {}, {{"kernel_shape", window}, {"strides", strides}});
        add(one.function);
    }

    void add(dense const& one) {
        if (channels_first_) { // the weights' rows are pixels whose channels come last
            value_ = graph_.node("Transpose", {value_}, named("channels_last"), {}, {{"perm", {0, 2, 3, 1}}});
            value_ = graph_.node("Flatten", {value_}, named("flat"), {{"axis", 1}});
            channels_first_ = false;
        }
        features_ = value_;
        value_ =
            graph_.node("Gemm",
                        {features_,
                         graph_.constant(named("weight"), {whole(one.of.rows()), whole(one.of.outputs)}, one.of.weight),
                         graph_.constant(named("bias"), {whole(one.of.outputs)}, one.of.bias)},
                        named("linear"));
        add(one.function);
    }

    void add(nn::activation function) {
        if (function != nn::activation::none)
            value_ = graph_.node(function == nn::activation::relu ? "Relu" : "Tanh", {value_}, named("activated"));
    }

    void act_discretely() {
        graph_.node("ArgMax", {value_}, "action", {{"axis", 1}, {"keepdims", 0}});
        graph_.border(field::graph::output, "action", element::whole, {}, "the most likely one, from 0 on");
        if (distribution_) {
            graph_.node("LogSoftmax", {value_}, "log_probabilities", {{"axis", 1}});
            graph_.border(field::graph::output, "log_probabilities", element::floats, {whole(policy_.last().outputs)},
                          "of each action");
        }
    }

    void act_severally(std::vector<std::size_t> const& counts) {
        sizes parts;
        std::vector<std::string> logits, actions, log_probabilities;
        for (std::size_t const count : counts) {
            parts.push_back(whole(count));
            logits.push_back(fmt::format("logits_{}", logits.size()));
        }
        graph_.node("Split",
                    {value_, graph_.constant("components", element::whole, {whole(parts.size())},
                                             std::span<std::int64_t const>(parts))},
                    logits, {{"axis", 1}});
        for (std::string const& own : logits)
            actions.push_back(graph_.node("ArgMax", {own}, "action_of_" + own, {{"axis", 1}, {"keepdims", 1}}));
        graph_.node("Concat", actions, "action", {{"axis", 1}});
        graph_.border(field::graph::output, "action", element::whole, {whole(parts.size())},
                      "the most likely ones, done at once, each from 0 on");
        if (!distribution_)
            return;
        for (std::string const& own : logits)
            log_probabilities.push_back(graph_.node("LogSoftmax", {own}, "log_probabilities_of_" + own, {{"axis", 1}}));
        graph_.node("Concat", log_probabilities, "log_probabilities", {{"axis", 1}});
        graph_.border(field::graph::output, "log_probabilities", element::floats, {whole(policy_.last().outputs)},
                      "of each value of the first action, then of the second, and so on");
    }

    void act_really(box const& bounds) {
        sizes const shape{whole(bounds.size())};
        std::string mean = value_, raw;
        if (policy_.log_deviations.empty()) {
            mean = distribution_ ? "mean" : "unbounded";
            raw = "raw_deviation";
            sizes const parts{shape[0], shape[0]};
            graph_.node("Split",
                        {value_, graph_.constant("parts", element::whole, {2}, std::span<std::int64_t const>(parts))},
                        {mean, raw}, {{"axis", 1}});
        } else if (distribution_) {
            mean = graph_.node("Identity", {value_}, "mean");
        }
        auto const above = graph_.node("Max", {mean, graph_.constant("action_low", shape, bounds.low)}, "action_above");
        graph_.node("Min", {above, graph_.constant("action_high", shape, bounds.high)}, "action");
        graph_.border(field::graph::output, "action", element::floats, shape, "the most likely one, within its bounds");
        if (!distribution_)
            return;
        graph_.border(field::graph::output, "mean", element::floats, shape, "of the actions, not within their bounds");
        if (auto const* const exploring = std::get_if<actors::state_dependent_exploration>(&policy_.actor)) {
            std::size_t const features = policy_.last().rows(), actions = bounds.size();
            std::vector<float> squares(features * actions);
            for (std::size_t f = 0; f < features; ++f)
                for (std::size_t j = 0; j < actions; ++j)
                    squares[f * actions + j] = std::exp(2.0f * policy_.log_deviations[j * features + f]);
            auto const variance =
                graph_.node("Gemm",
                            {graph_.node("Mul", {features_, features_}, "squared_features"),
                             graph_.constant("squared_deviations", {whole(features), shape[0]}, squares),
                             graph_.constant("least_variance",
                                             static_cast<float>(exploring->floor * exploring->floor))},
                            "variance");
            graph_.node("Sqrt", {variance}, "deviation");
        } else if (raw.empty()) {
            std::vector<float> deviations;
            for (float const log : policy_.log_deviations)
                deviations.push_back(std::exp(log));
            graph_.node("Expand",
                        {graph_.constant("deviations", shape, deviations), graph_.node("Shape", {mean}, "mean_shape")},
                        "deviation");
        } else {
            double const floor = std::get<actors::diagonal_gaussian>(policy_.actor).floor;
            auto const variance = graph_.node("Add",
                                              {graph_.node("Softplus", {raw}, "softplus"),
                                               graph_.constant("least_variance", static_cast<float>(floor * floor))},
                                              "variance");
            graph_.node("Sqrt", {variance}, "deviation");
        }
        graph_.border(field::graph::output, "deviation", element::floats, shape, "standard deviations of the actions");
    }

    std::string scaled(std::string const& what, std::string const& output) {
        auto const unit = static_cast<float>(critic_->description.reward_scale);
        return graph_.node("Mul", {what, graph_.constant("reward_scale", unit)}, output);
    }
    /// A distribution's output for each part.
    void tell(std::string_view name, std::size_t parts, std::string_view description) {
        graph_.border(field::graph::output, name, element::floats, {whole(parts)}, description);
    }
    /// The mean of places [batch, parts] or [parts] by their weights.
    void expect_mean(std::string const& weights, std::string const& places) {
        graph_.node("ReduceSum", {graph_.node("Mul", {weights, places}, "value_shares"), axis(1)}, "value",
                    {{"keepdims", 0}});
    }

    /// The value distribution, in the environment's rewards.
    void expect() {
        graph_.border(field::graph::output, "value", element::floats, {}, "mean of the discounted return from here on");
        std::visit([&](auto const& head) { expect(head); }, critic_->description.head);
    }
    void expect(heads::scalar const&) { graph_.node("Squeeze", {scaled(value_, "values"), axis(1)}, "value"); }
    void expect(mixture_outputs const& head) {
        sizes const parts(3, whole(head.components));
        graph_.node("Split",
                    {value_, graph_.constant("value_parts", element::whole, {3}, std::span<std::int64_t const>(parts))},
                    {"raw_weights", "raw_means", "raw_deviations"}, {{"axis", 1}});
        graph_.node("Softmax", {"raw_weights"}, "value_weights", {{"axis", 1}});
        scaled("raw_means", "value_means");
        auto const spread = graph_.node("Add",
                                        {graph_.node("Softplus", {"raw_deviations"}, "value_softplus"),
                                         graph_.constant("value_floor", static_cast<float>(head.floor))},
                                        "value_spread");
        graph_.node("Mul",
                    {graph_.node("Sqrt", {spread}, "value_root"),
                     graph_.constant("deviation_scale",
                                     static_cast<float>(critic_->description.reward_scale * std::sqrt(head.scale)))},
                    "value_deviations");
        tell("value_weights", head.components, "of the components of a mixture of normal distributions of the return");
        tell("value_means", head.components, "of the components");
        tell("value_deviations", head.components, "standard deviations of the components");
        expect_mean("value_weights", "value_means");
    }
    void expect(atom_outputs const& head) {
        graph_.node("Softmax", {value_}, "value_probabilities", {{"axis", 1}});
        tell("value_probabilities", head.atoms.size(), "of the atoms that the metadata name");
        std::vector<float> atoms;
        for (double const atom : scaled_atoms(head))
            atoms.push_back(static_cast<float>(atom));
        expect_mean("value_probabilities", graph_.constant("atoms", {whole(atoms.size())}, atoms));
    }
    void expect(point_outputs const& head) { expect_quantiles(value_, head.points); }
    void expect(heads::implicit_quantile const& head) {
        std::int64_t const features = whole(critic_->hidden.of.rows()), count = whole(head.samples_per_state);
        auto const feature_rows = graph_.node("Unsqueeze", {value_, axis(1)}, "value_features");
        auto const product =
            graph_.node("Mul",
                        {feature_rows, graph_.constant("embedded_fractions", {count, features}, critic_->embedded)},
                        "value_product");
        auto const layer = [&](std::string const& input, dense const& one, std::string const& name) {
            auto const linear =
                graph_.node("MatMul",
                            {input, graph_.constant(name + "_weight", {whole(one.of.rows()), whole(one.of.outputs)},
                                                    one.of.weight)},
                            name + "_product");
            return graph_.node("Add", {linear, graph_.constant(name + "_bias", {whole(one.of.outputs)}, one.of.bias)},
                               name + "_sum");
        };
        auto const hidden = graph_.node("Relu", {layer(product, critic_->hidden, "value_hidden")}, "value_activated");
        auto const quantiles =
            graph_.node("Squeeze", {layer(hidden, critic_->quantile, "value_last"), axis(2)}, "raw_quantiles");
        expect_quantiles(quantiles, head.samples_per_state);
    }
    void expect_quantiles(std::string const& raw, std::size_t count) {
        scaled(raw, "value_quantiles");
        tell("value_quantiles", count, "of the return, at the fractions that the metadata name");
        graph_.node("ReduceMean", {"value_quantiles"}, "value", {{"keepdims", 0}}, {{"axes", {1}}});
    }
    [[nodiscard]] std::string axis(std::int64_t number) {
        return graph_.constant(fmt::format("axis_{}", number), element::whole, {1},
                               std::span<std::int64_t const>(&number, 1));
    }
    [[nodiscard]] std::vector<double> scaled_atoms(atom_outputs const& head) const {
        auto atoms = head.atoms;
        for (double& atom : atoms)
            atom *= critic_->description.reward_scale;
        return atoms;
    }

    /// What the outputs of the value distribution mean.
    [[nodiscard]] nlohmann::ordered_json expectation() const {
        nlohmann::ordered_json json;
        auto const& head = critic_->description.head;
        std::size_t quantiles = 0;
        if (std::holds_alternative<mixture_outputs>(head))
            json["kind"] = "gaussian_mixture";
        else if (auto const* const grid = std::get_if<atom_outputs>(&head))
            json = {{"kind", "categorical"}, {"atoms", scaled_atoms(*grid)}};
        else if (auto const* const points = std::get_if<point_outputs>(&head))
            quantiles = points->points;
        else if (auto const* const implicit = std::get_if<heads::implicit_quantile>(&head))
            quantiles = implicit->samples_per_state;
        else
            json["kind"] = "scalar";
        if (quantiles > 0)
            json = {{"kind", "quantiles"}, {"fractions", midpoints(quantiles)}};
        json["discount"] = critic_->description.discount;
        return json;
    }

    [[nodiscard]] nlohmann::ordered_json space() const {
        if (auto const* const several = std::get_if<multi_discrete>(&policy_.action_space))
            return {{"kind", "multi_discrete"}, {"actions", several->counts}};
        auto const* const bounds = std::get_if<box>(&policy_.action_space);
        if (bounds == nullptr)
            return {{"kind", "discrete"}, {"actions", policy_.last().outputs}};
        auto const list = [](std::vector<float> const& all) { // JSON has no infinity
            auto numbers = nlohmann::ordered_json::array();
            for (float const x : all)
                numbers.push_back(std::isinf(x) ? nlohmann::ordered_json() : nlohmann::ordered_json(x));
            return numbers;
        };
        return {{"kind", "box"}, {"low", list(bounds->low)}, {"high", list(bounds->high)}};
    }

    [[nodiscard]] std::string model() const {
        std::string const version = fmt::format("{}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH);
        std::string bytes;
        protozero::pbf_writer model(bytes);
        model.add_int64(field::model::ir_version, ir_version);
        model.add_string(field::model::producer, "gmac-export");
        model.add_string(field::model::producer_version, version);
        model.add_message(field::model::graph, graph_.bytes());
        {
            protozero::pbf_writer operators(model, field::model::operators);
            operators.add_int64(field::operator_set::version, onnx_opset);
        }
        auto notes = policy_.notes;
        notes["action_space"] = space().dump();
        if (critic_)
            notes["value_distribution"] = expectation().dump();
        notes["gmac_version"] = version;
        for (auto const& [key, note] : notes) {
            protozero::pbf_writer entry(model, field::model::metadata);
            entry.add_string(field::entry::key, key);
            entry.add_string(field::entry::value, note);
        }
        return bytes;
    }

    policy_layers const& policy_;
    bool distribution_;
    value_layers const* critic_; ///< or null
    graph_writer graph_;
    std::string value_ = "observation"; ///< the output of the layers so far
    std::string features_{};            ///< what the last dense layer reads
    char const* part_ = "layer";        ///< how the names of layers begin
    std::size_t number_ = 0;            ///< of the layer
    bool channels_first_ = false;       ///< of that output; ONNX convolves no other
};

} // namespace

std::string write_onnx(policy_layers const& policy, bool distribution, value_layers const* value) {
    return policy_writer(policy, distribution, value).write();
}

} // namespace gmac::examples::exporting
