// The border: one file per word, no defaults, checks or logic; the GIL is released around the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "conset/array.hpp"

namespace nb = nanobind;

namespace conset::bindings {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
View<const T> view(const In<T>& array) {
    return {array.data(), array.shape(0)};
}

template <class T>
Array<T> copy(const In<T>& array) {
    return {array.data(), array.data() + array.shape(0)};
}

// Hands a vector to NumPy without copying it.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(Array<T>&& values) {
    auto* owned = new Array<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

template <class T>
using Out = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

template <class T>
Out<T> look(const std::vector<T>& values) {
    return Out<T>(values.data(), {values.size()});
}

// Getter of a read-only property: an array inside a result, by the members that lead to it. It is not copied and keeps
// its result alive.
template <class Result, auto First, auto... Rest>
auto entries(const Result& result) {
    const auto& member = result.*First;
    if constexpr (sizeof...(Rest) == 0)
        return look(member);
    else
        return entries<std::remove_cvref_t<decltype(member)>, Rest...>(member);
}

}  // namespace conset::bindings
