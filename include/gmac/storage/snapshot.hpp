// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// The name of an element type in the safetensors format.
[[nodiscard]] constexpr std::string_view name_of(element_type type) noexcept {
    switch (type) {
    case element_type::u8:
        return "U8";
    case element_type::i32:
        return "I32";
    case element_type::i64:
        return "I64";
    case element_type::u64:
        return "U64";
    case element_type::f32:
        return "F32";
    case element_type::f64:
        return "F64";
    }
    return "";
}

/// What to do with a tensor that is stored, but that the state to be loaded does not ask for.
enum class unasked { refuse, ignore };

/// A copy of a state in memory, made by visiting it once and put back by visiting it again. Two snapshots are equal if
/// they hold the same tensors in the same order, bit for bit: a NaN equals itself, and 0 is not −0.
class snapshot {
public:
    struct tensor {
        std::string name;
        element_type type = element_type::u8;
        std::vector<std::size_t> shape;
        std::vector<std::byte> data; ///< row-major
        /// Bytes whose number may differ between one visit and the next. A file does not tell: there it is false.
        bool resizable = false;

        friend bool operator==(tensor const& a, tensor const& b) {
            return a.name == b.name && a.type == b.type && a.shape == b.shape && a.data == b.data;
        }
    };

    snapshot() = default;
    /// Throws gmac::error if two tensors have one name, or if one has not as many bytes as its type and shape say.
    explicit snapshot(std::vector<tensor> tensors) : tensors_(std::move(tensors)) {
        std::set<std::string_view> names;
        for (auto const& one : tensors_) {
            require(names.insert(one.name).second, "the state has two tensors of the name {}", one.name);
            require(one.data.size() == size_of(one.type, one.shape), "the tensor {} is {}, but has {} bytes", one.name,
                    describe(one.type, one.shape), one.data.size());
        }
    }

    /// Visits the state: `visit` is called once with a storing archive.
    /// Throws gmac::error if two tensors have one name.
    template <std::invocable<archive&> Visit>
    [[nodiscard]] static snapshot of(Visit&& visit) {
        recorder records;
        visit(static_cast<archive&>(records));
        return snapshot(std::move(records.tensors));
    }

    [[nodiscard]] std::vector<tensor> const& tensors() const& noexcept { return tensors_; }
    [[nodiscard]] std::vector<tensor> tensors() && noexcept { return std::move(tensors_); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t sum = 0;
        for (auto const& one : tensors_)
            sum += one.data.size();
        return sum;
    }
    friend bool operator==(snapshot const& a, snapshot const& b) { return a.tensors_ == b.tensors_; }

    /// Throws gmac::error unless the state of which `target` was taken can be loaded from this one: the same names, and
    /// for each the same element type and shape. `where` begins the message.
    void require_fits(snapshot const& target, unasked rest, std::string_view where) const;

    /// Puts the stored values back: `visit` is called once with a loading archive. If it throws, what was visited
    /// before is loaded already; `snapshot::of` and `require_fits` beforehand find every mismatch without touching the
    /// state.
    template <std::invocable<archive&> Visit>
    void restore(Visit&& visit, unasked rest = unasked::refuse, std::string_view where = "snapshot") const {
        player plays(*this, where);
        visit(static_cast<archive&>(plays));
        plays.finish(rest);
    }

    /// "F32 [3, 4]"
    [[nodiscard]] static std::string describe(element_type type, std::span<std::size_t const> shape) {
        std::string text = std::string(name_of(type)) + " [";
        for (std::size_t i = 0; i < shape.size(); ++i)
            text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
        return text + ']';
    }

private:
    using index = std::map<std::string_view, std::size_t>;

    [[nodiscard]] index by_name() const {
        index found;
        for (std::size_t i = 0; i < tensors_.size(); ++i)
            found.emplace(tensors_[i].name, i);
        return found;
    }

    struct recorder final : archive {
        [[nodiscard]] bool loading() const noexcept override { return false; }
        void array(std::string const& name, element_type type, std::span<std::size_t const> shape,
                   void* data) override {
            std::size_t const size = size_of(type, shape);
            auto const* const first = static_cast<std::byte const*>(data);
            add({name,
                 type,
                 {shape.begin(), shape.end()},
                 size == 0 ? std::vector<std::byte>() : std::vector<std::byte>(first, first + size)});
        }
        void bytes(std::string const& name, std::vector<std::byte>& data) override {
            add({name, element_type::u8, {data.size()}, data, true});
        }
        void add(tensor one) { tensors.push_back(std::move(one)); }
        std::vector<tensor> tensors;
    };

    struct player final : archive {
        player(snapshot const& from, std::string_view where)
            : source(from), names(from.by_name()), asked(from.tensors_.size(), false), place(where) {}

        [[nodiscard]] bool loading() const noexcept override { return true; }
        void array(std::string const& name, element_type type, std::span<std::size_t const> shape,
                   void* data) override {
            tensor const& stored = find(name);
            require(stored.type == type &&
                        std::equal(stored.shape.begin(), stored.shape.end(), shape.begin(), shape.end()),
                    "{}: {} is {}, but the state wants {}", place, name, describe(stored.type, stored.shape),
                    describe(type, shape));
            if (!stored.data.empty())
                std::memcpy(data, stored.data.data(), stored.data.size());
        }
        void bytes(std::string const& name, std::vector<std::byte>& data) override {
            tensor const& stored = find(name);
            require(stored.type == element_type::u8 && stored.shape.size() == 1,
                    "{}: {} is {}, but the state wants U8 [any number]", place, name,
                    describe(stored.type, stored.shape));
            data = stored.data;
        }
        tensor const& find(std::string const& name) {
            auto const at = names.find(name);
            require(at != names.end(), "{}: there is no tensor {}, which the state wants", place, name);
            asked[at->second] = true;
            return source.tensors_[at->second];
        }
        void finish(unasked rest) const {
            for (std::size_t i = 0; i < asked.size() && rest == unasked::refuse; ++i)
                require(asked[i], "{}: nothing in the state wants the tensor {}", place, source.tensors_[i].name);
        }
        snapshot const& source;
        index names;
        std::vector<bool> asked;
        std::string_view place;
    };

    std::vector<tensor> tensors_;
};

namespace detail {

/// "a, b, c and 4 more"
class name_list {
public:
    void add(std::string_view name) {
        if (++count_ <= 5)
            (text_ += count_ == 1 ? "" : ", ") += name;
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::string text() const {
        return count_ <= 5 ? text_ : text_ + " and " + std::to_string(count_ - 5) + " more";
    }

private:
    std::string text_;
    std::size_t count_ = 0;
};

} // namespace detail

inline void snapshot::require_fits(snapshot const& target, unasked rest, std::string_view where) const {
    index const mine = by_name();
    index const wanted = target.by_name();
    detail::name_list missing;
    detail::name_list extra;
    detail::name_list different;
    for (tensor const& want : target.tensors_) {
        auto const at = mine.find(want.name);
        if (at == mine.end()) {
            missing.add(want.name);
            continue;
        }
        tensor const& have = tensors_[at->second];
        bool const fits =
            have.type == want.type && (want.resizable ? have.shape.size() == 1 : have.shape == want.shape);
        if (!fits)
            different.add(want.name + " is " + describe(have.type, have.shape) + " but must be " +
                          (want.resizable ? std::string("U8 [any number]") : describe(want.type, want.shape)));
    }
    for (tensor const& have : tensors_)
        if (rest == unasked::refuse && !wanted.contains(have.name))
            extra.add(have.name);
    if (missing.empty() && extra.empty() && different.empty())
        return;
    std::string message;
    for (auto const& [list, what] : {std::pair(&different, "of another type or shape: "),
                                     std::pair(&missing, "missing: "), std::pair(&extra, "wanted by nothing: ")})
        if (!list->empty())
            message += (message.empty() ? "" : "; ") + std::string(what) + list->text();
    fail("{}: its tensors are not those of the state to be loaded ({})", where, message);
}

} // namespace gmac::inline GMAC_ABI
