#include "application_plan.hpp"

#include <functional>
#include <string>
#include <utility>

#include "own_world.hpp"

namespace conset::capi {

namespace {

// As the buffers of an alltoallv are checked.
void check_buffers(const PlanFile& file, const void* send, const void* receive) {
    const auto require_buffer = [](const char* name, const void* buffer, std::int64_t bytes) {
        if (buffer == nullptr && bytes > 0)
            throw Failure(Code::argument, std::string(name) + ": is NULL, must have " + std::to_string(bytes) + " B");
    };
    require_buffer("sendbuf", send, file.send_bytes);
    require_buffer("recvbuf", receive, file.receive_bytes);
    const auto* from = static_cast<const std::byte*>(send);
    const auto* to = static_cast<const std::byte*>(receive);
    const std::less<> before;
    if (file.send_bytes > 0 && file.receive_bytes > 0 && before(from, to + file.receive_bytes) &&
        before(to, from + file.send_bytes))
        throw Failure(Code::argument, "sendbuf and recvbuf overlap");
}

template <class Handle>
class HandlePlan final : public ApplicationPlan {
public:
    HandlePlan(OwnWorld<Handle> own, PlanFile file, int rank)
        : own_(std::move(own)), file_(std::move(file)), rank_(rank) {}

    const PlanFile& file() const override { return file_; }

    std::unique_ptr<ApplicationExchange> exchange(const void* send, void* receive, double timeout_s,
                                                  Outcome& outcome) override {
        outcome = outcome_of([&] { check_buffers(file_, send, receive); });
        if (!outcome.fine()) outcome.detail = "rank " + std::to_string(rank_) + ": " + outcome.detail;
        const RankBuffers<Handle> buffers{static_cast<const std::byte*>(send), static_cast<std::byte*>(receive),
                                          own_.world().mpi.byte, own_.world().mpi.byte};
        auto exchange = Exchange<Handle>::of_plan(own_.world(), file_.plan, file_.items, buffers, timeout_s, outcome);
        return exchange == nullptr ? nullptr : erase_handle(std::move(exchange));
    }

    Outcome free() override { return own_.free(); }

private:
    OwnWorld<Handle> own_;
    PlanFile file_;
    int rank_;
};

template <class Handle>
std::unique_ptr<ApplicationPlan> read(const MpiWorld<Handle>& theirs, const char* path, Outcome& outcome) {
    OwnWorld<Handle> own(theirs);
    std::unique_ptr<ApplicationPlan> plan;
    const Outcome ended = outcome_of([&] {
        Collectives<Handle> collectives(own.world());
        outcome = outcome_of([&] {
            if (path == nullptr) throw Failure(Code::argument, "path: is NULL");
            PlanFile file = read_plan_file(path, collectives.rank(), collectives.ranks());
            plan = std::make_unique<HandlePlan<Handle>>(own, std::move(file), collectives.rank());
        });
        outcome = agree(collectives, outcome, 0, "");
    });
    if (outcome.fine()) outcome = ended;
    if (outcome.fine()) return plan;
    if (const Outcome freed = own.free(); outcome.fine()) outcome = freed;
    return nullptr;
}

}  // namespace

std::unique_ptr<ApplicationPlan> read_plan(const conset_lib_mpi& mpi, const conset_lib_comm& comm, const char* path,
                                           Outcome& outcome) {
    return with_handle(mpi, [&]<class Handle>(std::type_identity<Handle>) {
        return read(world_of<Handle>(mpi, comm), path, outcome);
    });
}

}  // namespace conset::capi
