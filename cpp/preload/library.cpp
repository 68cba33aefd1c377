#include "library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace conset::preload {

namespace {

// The path of the loaded library of MPI, the standard interface's first: a process that has it calls no other.
std::string find_path() {
    std::string found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& best = *static_cast<std::string*>(data);
            const std::string_view path = info->dlpi_name;
            const std::string_view file = path.substr(path.rfind('/') + 1);
            const bool standard = file.starts_with("libmpi_abi.");
            if (standard || (best.empty() && (file.starts_with("libmpi.") || file.starts_with("libmpich.") ||
                                              file.starts_with("libmpi_"))))
                best = path;
            return standard ? 1 : 0;
        },
        &found);
    return found;
}

std::atomic<pid_t> caller{0};

}  // namespace

const Library& Library::get() {
    static const Library* library = new Library;  // never destroyed: ranks call MPI until they are gone
    return *library;
}

bool Library::used() { return caller == getpid(); }

void* Library::find(const char* symbol) const { return dlsym(handle_, (std::string("P") + symbol).c_str()); }

Library::Library() {
    caller = getpid();
    const std::string path = find_path();
    handle_ = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle_ == nullptr) {
        std::fputs("conset: a call of MPI, and no MPI library is loaded\n", stderr);
        std::abort();
    }
    // a program may hold the library's objects itself (copy relocation): the global scope says whose are taken
    const auto object = [&](const char* symbol) {
        void* const global = dlsym(RTLD_DEFAULT, symbol);
        return reinterpret_cast<Bits>(global != nullptr ? global : dlsym(handle_, symbol));
    };
    const bool standard = path.find("libmpi_abi.") != std::string::npos;
    // what the headers of the three say
    if (standard) {
        name = "MPI ABI";
        wide = true;
        comm_world = 0x101, comm_null = 0x100, type_null = 0x200, float64 = 0x214, max = 0x23;
        numbers.byte = 0x247, numbers.errors_return = 0x143;
        numbers.status_bytes = 32, numbers.source_at = 0, numbers.any_source = -1, numbers.named = 101;
        in_place = reinterpret_cast<const void*>(Bits{1});
    } else if (dlsym(handle_, "ompi_mpi_comm_world") != nullptr) {
        name = "Open MPI";
        wide = true;
        comm_world = object("ompi_mpi_comm_world"), comm_null = object("ompi_mpi_comm_null");
        type_null = object("ompi_mpi_datatype_null"), float64 = object("ompi_mpi_double"),
        max = object("ompi_mpi_op_max");
        numbers.byte = object("ompi_mpi_byte"), numbers.errors_return = object("ompi_mpi_errors_return");
        numbers.status_bytes = 24, numbers.source_at = 0, numbers.any_source = -1, numbers.named = 0;
        in_place = reinterpret_cast<const void*>(Bits{1});
    } else {
        name = "MPICH";
        comm_world = 0x44000000, comm_null = 0x04000000, type_null = 0x0c000000, float64 = 0x4c00080b, max = 0x58000001;
        numbers.byte = 0x4c00010d, numbers.errors_return = 0x54000001;
        numbers.status_bytes = 20, numbers.source_at = 8, numbers.any_source = -2, numbers.named = 1;
        in_place = reinterpret_cast<const void*>(~Bits{0});
    }
    numbers.handle_bytes = wide ? 8 : 4;
    for (std::size_t k = 0; k < kMpiCalls.size(); ++k)
        numbers.calls[k] = reinterpret_cast<std::uint64_t>(find(kMpiCalls[k]));
}

const char* setting(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr || *text == 0 ? nullptr : text;
}

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Bits Library::handle_at(const void* handles, std::size_t k) const {
    return wide ? static_cast<const std::uint64_t*>(handles)[k] : static_cast<const std::uint32_t*>(handles)[k];
}

std::int64_t Library::type_size(Bits type) const {
    using Small = int(Bits, int*);
    static auto* const size_of = call<Small>("MPI_Type_size");
    int size = 0;
    if (handle(type) == type_null) return -1;  // MPI reports it in the call that it is given to
    return size_of(type, &size) == 0 && size >= 0 ? size : -1;
}

}  // namespace conset::preload
