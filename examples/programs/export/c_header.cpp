// SPDX-License-Identifier: Apache-2.0
#include "c_header.hpp"

#include <gmac/core/error.hpp>
#include <gmac/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace gmac::examples::exporting {

namespace {

[[nodiscard]] std::string upper(std::string text) {
    for (char& c : text)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

/// A literal of C that has this value.
[[nodiscard]] std::string literal(float x) {
    if (std::isinf(x))
        x = std::copysign(std::numeric_limits<float>::max(), x);
    std::string text = fmt::format("{}", x);
    return text + (text.find_first_of(".e") == text.npos ? ".0f" : "f");
}

[[nodiscard]] std::string string_literal(std::string_view text) {
    std::string result = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\' || c == '?') // two question marks would begin a trigraph
            result += '\\';
        if (c == '$') // which stands for the name here
            result += "\\044";
        else if (static_cast<unsigned char>(c) >= ' ' && c != '\x7f')
            result += c;
    }
    return result + '"';
}

// In what follows $ stands for the name and an underscore, $$ for the same in capitals.

constexpr std::string_view add_product = R"(
/* y [m] += x [n] w [n, m] */
static inline void $add_product@bytes@(const @x@ *$$RESTRICT x, int n, const @w@ *$$RESTRICT w, int m, float *$$RESTRICT y) {
    for (int i = 0; i < n / 4; ++i, x += 4, w += 4 * m)
        for (int j = 0; j < m; ++j)
            y[j] += x[0] * w[j] + x[1] * w[m + j] + x[2] * w[2 * m + j] + x[3] * w[3 * m + j];
    for (int i = 0; i < n % 4; ++i, ++x, w += m)
        for (int j = 0; j < m; ++j)
            y[j] += *x * w[j];
}
)";

constexpr std::string_view dense_text = R"(
/* y [m] = x [n] w [n, m] + b [m] */
static inline void $dense(const float *x, int n, const @w@ *w,@steps@ const float *b, int m, float *y) {
    for (int j = 0; j < m; ++j)
        y[j] = @start@;
    $add_product(x, n, w, m, y);
    @finish@
}
)";

constexpr std::string_view convolve_text = R"(
/* y [rows, columns, m] = x * w + b. The windows of x are `down` and `right` apart, and are `planes` planes of `kernel` rows of
 * n numbers; planes are `plane` apart, rows `row`. */
static inline void $convolve@bytes@(const @x@ *x, int planes, int plane, int kernel, int row, int n, int down, int right,
                                    const @w@ *w,@steps@ const float *b, int rows, int columns, int m, float *y) {
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < columns; ++k, y += m) {
            const @w@ *part = w;
            for (int j = 0; j < m; ++j)
                y[j] = @start@;
            for (int p = 0; p < planes; ++p)
                for (int r = 0; r < kernel; ++r, part += n * m)
                    $add_product@bytes@(x + i * down + k * right + p * plane + r * row, n, part, m, y);
            @finish@
        }
}
)";

constexpr std::string_view relu_text = R"(
static inline void $relu(float *x, int n) {
    for (int i = 0; i < n; ++i)
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
}
)";

// Lambert's continued fraction is exact to 1e-10 up to 1.25; tanh(2 a) = 2 t / (1 + t²) with t = tanh(a) makes no relative error
// larger.
constexpr std::string_view tanh_text = R"(
/* To 1e-6 of the value: a continued fraction of x / 8, and three doublings. */
static inline void $tanh(float *x, int n) {
    for (int i = 0; i < n; ++i) {
        const float a = x[i] > 10.0f ? 1.25f : x[i] < -10.0f ? -1.25f : 0.125f * x[i], z = a * a;
        float t = a * (135135.0f + z * (17325.0f + z * (378.0f + z))) /
                  (135135.0f + z * (62370.0f + z * (3150.0f + z * 28.0f)));
        t = 2.0f * t / (1.0f + t * t);
        t = 2.0f * t / (1.0f + t * t);
        x[i] = 2.0f * t / (1.0f + t * t);
    }
}
)";

class writer {
public:
    writer(policy_layers const& policy, std::string const& name)
        : policy_(policy), lower_(name + "_"), upper_(upper(lower_)) {
        bool const fits = std::ranges::all_of(name, [](char c) {
            return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        });
        require(fits && !name.empty() && !(name[0] >= '0' && name[0] <= '9'),
                "the name \"{}\" is none in C: it must have letters, digits and underscores only, and begin with no "
                "digit",
                name);
    }

    [[nodiscard]] c_header write() && {
        for (std::size_t i = 0; i < policy_.layers.size(); ++i) {
            last_ = i + 1 == policy_.layers.size();
            std::visit([&](auto const& one) { add(one); }, policy_.layers[i]);
        }
        std::size_t const outputs = policy_.last().outputs;
        constant_bytes_ += real()      ? 2 * sizeof(float) * action_size(policy_.action_space)
                           : several() ? sizeof(std::int32_t) * action_size(policy_.action_space)
                                       : 0;
        std::size_t const memory = sizeof(float) * (memory_[0] + memory_[1] + outputs);

        std::string text = head(memory);
        text += real() ? bounds() : several() ? counts() : std::string();
        text += constants_;
        text += helpers_;
        text += fmt::format(
            "\n/* The outputs of the network: {}. */\nstatic inline void $outputs(const {} "
            "observation[$$OBSERVATION_SIZE], float outputs[$$OUTPUTS]) {{\n",
            meaning_of_outputs(), observation_type());
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (memory_[i] > 0)
                text += fmt::format("    $$MEMORY float {}[{}];\n", memory_names[i], memory_[i]);
        text += body_ + "}\n";
        text += real() ? act_really : several() ? act_severally : act_discretely;
        text += "\n#undef $$MEMORY\n#undef $$RESTRICT\n\n#endif\n";
        replace_all(text, "@observation@", observation_type());
        replace_all(text, "$$", upper_);
        replace_all(text, "$", lower_);
        return {std::move(text), constant_bytes_, memory};
    }

private:
    static constexpr std::array<char const*, 2> memory_names{"even", "odd"};

    [[nodiscard]] bool real() const { return std::holds_alternative<box>(policy_.action_space); }
    [[nodiscard]] bool several() const { return std::holds_alternative<multi_discrete>(policy_.action_space); }
    [[nodiscard]] char const* observation_type() const { return policy_.sees_images() ? "unsigned char" : "float"; }
    [[nodiscard]] char const* meaning_of_outputs() const {
        return several() ? "a logit of each value of the first action, then of the second, and so on"
               : !real() ? "a logit of each action"
               : policy_.log_deviations.empty() ? "means, then raw deviations s: a deviation is sqrt(log(1 + exp(s)) + "
                                                  "$$DEVIATION_FLOOR * $$DEVIATION_FLOOR)"
                                                : "the means of the actions, not yet within their bounds";
    }

    void add(normalisation const& one) {
        add_constant("mean", one.mean);
        add_constant("mean_rest", one.rest);
        add_constant("scale", one.scale);
        std::string const clip = literal(one.clip), target = next(one.mean.size());
        body_ += fmt::format(
            "    for (int i = 0; i < {}; ++i) {{\n        const float x = ((observation[i] - $mean[i]) - "
            "$mean_rest[i]) * $scale[i];\n        {}[i] = ",
            one.mean.size(), target);
        body_ +=
            std::isinf(one.clip) ? "x;\n    }\n" : fmt::format("x > {0} ? {0} : x < -{0} ? -{0} : x;\n    }}\n", clip);
    }

    void add(pixels const& one) { pixels_ = &one; }

    void add(convolution const& one) {
        auto const& shape = one.shape;
        auto const& [rows, columns, channels] = shape.input;
        bool const bytes = pixels_ != nullptr;
        bool const planar = bytes && pixels_->channels_first;
        numbers of = one.of;
        if (bytes)
            for (float& number : of.steps.empty() ? of.weight : of.steps)
                number *= pixels_->scale;
        if (planar)
            of.weight = planes_first(shape, of);
        std::string const weights = add_numbers(of);
        std::string const x = source_, y = next(shape.output().size());
        std::size_t const step = planar ? 1 : channels;
        add_helper(add_product, bytes, of);
        add_helper(convolve_text, bytes, of);
        body_ += fmt::format("    $convolve{}({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});\n",
                             bytes ? "_bytes" : "", x, planar ? channels : 1, planar ? rows * columns : 0, shape.kernel,
                             columns * step, shape.kernel * step, shape.stride * columns * step, shape.stride * step,
                             weights, shape.output().height, shape.output().width, of.outputs, y);
        add_activation(one.function, y, shape.output().size());
        pixels_ = nullptr;
    }

    void add(dense const& one) {
        std::string const weights = add_numbers(one.of);
        std::string const x = source_, y = next(one.of.outputs);
        add_helper(add_product, false, one.of);
        add_helper(dense_text, false, one.of);
        body_ += fmt::format("    $dense({}, {}, {}, {}, {});\n", x, one.of.rows(), weights, one.of.outputs, y);
        add_activation(one.function, y, one.of.outputs);
    }

    void add_activation(nn::activation function, std::string_view place, std::size_t size) {
        if (function == nn::activation::none)
            return;
        bool const relu = function == nn::activation::relu;
        add_helper(relu ? relu_text : tanh_text, false, {});
        body_ += fmt::format("    ${}({}, {});\n", relu ? "relu" : "tanh", place, size);
    }

    /// A place for so many numbers, which are the input of the next layer.
    [[nodiscard]] std::string next(std::size_t size) {
        if (last_)
            return "outputs";
        std::size_t const i = source_ == memory_names[0] ? 1 : 0;
        memory_[i] = std::max(memory_[i], size);
        return source_ = memory_names[i];
    }

    /// The weights of a convolution with the channels before the rows of the window.
    [[nodiscard]] static std::vector<float> planes_first(nn::convolution_shape const& shape, numbers const& of) {
        std::size_t const kernel = shape.kernel, channels = shape.input.channels, outputs = of.outputs;
        std::vector<float> weight(of.weight.size());
        for (std::size_t pixel = 0; pixel < kernel * kernel; ++pixel)
            for (std::size_t c = 0; c < channels; ++c)
                for (std::size_t j = 0; j < outputs; ++j)
                    weight[(c * kernel * kernel + pixel) * outputs + j] =
                        of.weight[(pixel * channels + c) * outputs + j];
        return weight;
    }

    /// The arguments that name them.
    [[nodiscard]] std::string add_numbers(numbers const& of) {
        require(of.weight.size() <= std::size_t{std::numeric_limits<std::int32_t>::max()},
                "a layer has {} weights, but at most {} can be counted by an int of C", of.weight.size(),
                std::numeric_limits<std::int32_t>::max());
        std::size_t const number = layers_++;
        std::string const weight = fmt::format("weight_{}", number), steps = fmt::format("step_{}", number);
        std::string const bias = fmt::format("bias_{}", number);
        bool const rounded = !of.steps.empty();
        add_constant(weight, of.weight, rounded);
        if (rounded)
            add_constant(steps, of.steps);
        add_constant(bias, of.bias);
        return rounded ? fmt::format("${}, ${}, ${}", weight, steps, bias) : fmt::format("${}, ${}", weight, bias);
    }

    void add_constant(std::string_view name, std::span<float const> all, bool bytes = false) {
        constant_bytes_ += all.size() * (bytes ? 1 : sizeof(float));
        constants_ += fmt::format("static const {} ${}[{}] = {{", bytes ? "signed char" : "float", name, all.size());
        std::size_t const a_line = bytes ? 24 : 8;
        for (std::size_t i = 0; i < all.size(); ++i) {
            constants_ += i % a_line == 0 ? "\n    " : " ";
            constants_ += bytes ? fmt::format("{},", static_cast<int>(all[i])) : literal(all[i]) + ",";
        }
        constants_ += "\n};\n";
    }

    /// Once, for floats or bytes and for weights that are floats or were rounded.
    void add_helper(std::string_view text, bool bytes, numbers const& of) {
        bool const rounded = !of.steps.empty();
        std::string helper(text);
        replace_all(helper, "@x@", bytes ? "unsigned char" : "float");
        replace_all(helper, "@bytes@", bytes ? "_bytes" : "");
        replace_all(helper, "@w@", rounded ? "signed char" : "float");
        replace_all(helper, "@steps@", rounded ? " const float *steps," : "");
        replace_all(helper, "@start@", rounded ? "0.0f" : "b[j]");
        std::size_t const finish = helper.find("@finish@");
        if (rounded)
            replace_all(helper, "@finish@", "for (int j = 0; j < m; ++j) y[j] = y[j] * steps[j] + b[j];");
        else if (finish != helper.npos)
            helper.erase(helper.rfind('\n', finish),
                         finish + std::string_view("@finish@").size() - helper.rfind('\n', finish));
        if (helpers_.find(helper) == helpers_.npos)
            helpers_ += helper;
    }

    [[nodiscard]] std::string bounds() const {
        auto const& [low, high] = std::get<box>(policy_.action_space);
        auto const list = [](std::span<float const> all) {
            std::string text;
            for (float const x : all)
                text += (text.empty() ? "" : ", ") + literal(x);
            return text;
        };
        return fmt::format(
            "/* The bounds of an action's elements; the largest float stands for none. */\n"
            "static const float $action_low[$$ACTION_SIZE] = {{{}}};\n"
            "static const float $action_high[$$ACTION_SIZE] = {{{}}};\n\n",
            list(low), list(high));
    }

    [[nodiscard]] std::string counts() const {
        return fmt::format(
            "/* How many values each of the actions has that are done at once. */\n"
            "static const int $action_counts[$$COMPONENTS] = {{{}}};\n\n",
            fmt::join(action_counts(policy_.action_space), ", "));
    }

    [[nodiscard]] std::string head(std::size_t memory) const {
        std::string text = fmt::format(head_text, GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH);
        replace_all(text, "@usage@", real() ? usage_really : several() ? usage_severally : usage_discretely);
        for (auto const& [name, note] : policy_.notes)
            text += fmt::format("#define $${} {}\n", upper(name), string_literal(note));
        text += fmt::format("#define $$OBSERVATION_SIZE {}\n", policy_.observation_size);
        if (policy_.notes.contains("statistic"))
            text +=
                "/* The last number of an observation is not the environment's: it chooses the statistic to act by, from -1 for the\n"
                " * lower parameter of $$STATISTIC to 1 for the upper one; evenly between them, for cvar and upper_cvar in the\n"
                " * logarithm. */\n";
        if (auto const* const image = std::get_if<pixels>(&policy_.layers.front()))
            text += fmt::format(
                "/* An observation is an image, [{}]. */\n#define $$OBSERVATION_HEIGHT {}\n#define "
                "$$OBSERVATION_WIDTH {}\n#define $$OBSERVATION_CHANNELS {}\n",
                image->channels_first ? "channels, height, width" : "height, width, channels", image->shape.height,
                image->shape.width, image->shape.channels);
        if (auto const* const actions = std::get_if<discrete>(&policy_.action_space))
            text += fmt::format("#define $$ACTIONS {}\n", actions->count);
        else
            text += fmt::format("#define $${} {}\n", several() ? "COMPONENTS" : "ACTION_SIZE",
                                action_size(policy_.action_space));
        text += fmt::format("#define $$OUTPUTS {}\n", policy_.last().outputs);
        if (auto const* const actor = std::get_if<actors::diagonal_gaussian>(&policy_.actor);
            actor != nullptr && policy_.log_deviations.empty())
            text += fmt::format("#define $$DEVIATION_FLOOR {}\n", literal(static_cast<float>(actor->floor)));
        return text + fmt::format(sizes_text, constant_bytes_, memory);
    }

    static constexpr std::string_view head_text = R"(/* A trained policy, written by gmac-export of gmac {}.{}.{}.
 *
@usage@
 *
 * This is C99, and C++, and needs no library, not even math.h. Include it in one file: each that does has the numbers once more. Nothing is allocated.
 * What the layers hand on to each other takes $$MEMORY_BYTES of the stack; #define $$STATIC before including it keeps that in
 * static memory instead, and then only one thread may act at a time.
 */
#ifndef $$INCLUDED
#define $$INCLUDED

)";
    static constexpr std::string_view usage_really =
        R"( *     @observation@ observation[$$OBSERVATION_SIZE];
 *     float action[$$ACTION_SIZE];
 *     $act(observation, action);
 *
 * writes the most likely action, within its bounds. The observation is as the environment gives it, or if the policy sees
 * several, all of them, the oldest first: it is normalised here, where the policy was trained so. A NaN in an observation gives a NaN action.)";
    static constexpr std::string_view usage_discretely =
        R"( *     @observation@ observation[$$OBSERVATION_SIZE];
 *     int action = $act(observation);
 *
 * is the most likely action, 0 to $$ACTIONS - 1, or -1 if the network gives no numbers, as for a NaN in the observation. The
 * observation is as the environment gives it, or if the policy sees several, all of them, the oldest first: it is normalised here,
 * where the policy was trained so. Where not all actions are allowed, call $outputs, and take the allowed action of the largest output.)";
    static constexpr std::string_view usage_severally =
        R"( *     @observation@ observation[$$OBSERVATION_SIZE];
 *     int action[$$COMPONENTS];
 *     $act(observation, action);
 *
 * writes the most likely actions, the one of number i from 0 to $action_counts[i] - 1, or -1 where the network gives no numbers,
 * as for a NaN in the observation. The observation is as the environment gives it, or if the policy sees several, all of them, the
 * oldest first: it is normalised here, where the policy was trained so. Where not all actions are allowed, call $outputs, and take
 * of each of them the allowed value of the largest output.)";
    static constexpr std::string_view sizes_text =
        R"(/* Bytes of all numbers here, and of the memory in which the layers compute. */
#define $$CONSTANT_BYTES {}
#define $$MEMORY_BYTES {}

#ifdef $$STATIC
#define $$MEMORY static
#else
#define $$MEMORY
#endif
#ifdef __cplusplus
#define $$RESTRICT __restrict
#else
#define $$RESTRICT restrict
#endif

)";
    static constexpr std::string_view act_really = R"(
static inline void $act(const @observation@ observation[$$OBSERVATION_SIZE], float action[$$ACTION_SIZE]) {
    $$MEMORY float outputs[$$OUTPUTS];
    $outputs(observation, outputs);
    for (int i = 0; i < $$ACTION_SIZE; ++i)
        action[i] = outputs[i] < $action_low[i]    ? $action_low[i]
                    : outputs[i] > $action_high[i] ? $action_high[i]
                                                   : outputs[i];
}
)";
    static constexpr std::string_view act_discretely = R"(
static inline int $act(const @observation@ observation[$$OBSERVATION_SIZE]) {
    $$MEMORY float outputs[$$OUTPUTS];
    int best = 0;
    $outputs(observation, outputs);
    for (int i = 0; i < $$ACTIONS; ++i) {
        if (outputs[i] != outputs[i])
            return -1;
        best = outputs[i] > outputs[best] ? i : best;
    }
    return outputs[best] - outputs[best] == 0.0f ? best : -1;
}
)";

    static constexpr std::string_view act_severally = R"(
static inline void $act(const @observation@ observation[$$OBSERVATION_SIZE], int action[$$COMPONENTS]) {
    $$MEMORY float outputs[$$OUTPUTS];
    const float *own = outputs;
    $outputs(observation, outputs);
    for (int i = 0; i < $$COMPONENTS; own += $action_counts[i], ++i) {
        int best = 0, known = 1;
        for (int j = 0; j < $action_counts[i]; ++j) {
            known = known && own[j] == own[j];
            best = own[j] > own[best] ? j : best;
        }
        action[i] = known && own[best] - own[best] == 0.0f ? best : -1;
    }
}
)";

    policy_layers const& policy_;
    bool last_ = false;
    std::string lower_, upper_;
    pixels const* pixels_ = nullptr; ///< what the next convolution reads, if it reads bytes
    std::string source_ = "observation";
    std::array<std::size_t, 2> memory_{};
    std::string constants_, helpers_, body_;
    std::size_t layers_ = 0, constant_bytes_ = 0;
};

} // namespace

c_header write_c(policy_layers const& policy, std::string const& name) {
    return writer(policy, name).write();
}

} // namespace gmac::examples::exporting
