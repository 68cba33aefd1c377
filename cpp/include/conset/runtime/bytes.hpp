// Arrays as bytes, one after the other, for collectives between ranks of one program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "conset/array.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

class ByteWriter {
public:
    template <class T>
    void add(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        append(&value, sizeof(T));
    }
    template <class T>
    void add_array(const Array<T>& values) {
        static_assert(std::is_trivially_copyable_v<T>);
        add(static_cast<std::int64_t>(values.size()));
        append(values.data(), values.size() * sizeof(T));
    }
    const Array<std::byte>& bytes() const { return bytes_; }

private:
    void append(const void* from, std::size_t count) {
        const auto* first = static_cast<const std::byte*>(from);
        bytes_.insert(bytes_.end(), first, first + count);
    }
    Array<std::byte> bytes_;
};

class ByteReader {
public:
    explicit ByteReader(View<const std::byte> bytes) : bytes_(bytes) {}
    bool ended() const { return at_ == bytes_.size(); }
    template <class T>
    T value() {
        T value{};
        take(&value, sizeof(T));
        return value;
    }
    template <class T>
    Array<T> array() {
        const auto entries = value<std::int64_t>();
        Array<T> values(as_size(entries));
        take(values.data(), values.size() * sizeof(T));
        return values;
    }

private:
    void take(void* to, std::size_t count) {
        if (count > bytes_.size() - at_) throw Failure(Code::internal, "a message of another rank is cut short");
        if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
        at_ += count;
    }
    View<const std::byte> bytes_;
    std::size_t at_ = 0;
};

}  // namespace conset
