#include "application_exchange.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "conset/runtime/agreement.hpp"

namespace conset::capi {

namespace {

// A rank, and whom its blocks go to and come from, in the order of its arguments.
struct Peers {
    int rank = 0;
    Array<std::int32_t> sources, targets;
};

// What `work` finds wrong on this rank.
template <class Work>
Outcome local_outcome(const Peers& peers, Work&& work) {
    Outcome outcome = outcome_of(std::forward<Work>(work));
    if (!outcome.fine()) outcome.detail = "rank " + std::to_string(peers.rank) + ": " + outcome.detail;
    return outcome;
}

template <std::size_t Size>
void copy_text(std::string_view text, char (&to)[Size]) {
    const std::size_t length = std::min(text.size(), sizeof to - 1);
    text.copy(to, length);
    to[length] = '\0';
}

template <class Handle>
void require(const Mpi<Handle>& mpi, const char* call, int code) {
    if (code != 0) throw Failure(Code::mpi, describe_mpi(mpi, call, code));
}

template <class Handle>
void add_all_ranks(Peers& peers, const MpiWorld<Handle>& world) {
    int ranks = 0;
    require(world.mpi, "MPI_Comm_size", world.mpi.calls.comm_size(world.comm, &ranks));
    peers.sources.resize(as_size(ranks));
    std::iota(peers.sources.begin(), peers.sources.end(), 0);
    peers.targets = peers.sources;
}

template <class Handle>
void add_neighbors(Peers& peers, const MpiWorld<Handle>& world) {
    int sources = 0, targets = 0, weighted = 0;
    require(world.mpi, "MPI_Dist_graph_neighbors_count",
            world.mpi.calls.dist_graph_neighbors_count(world.comm, &sources, &targets, &weighted));
    peers.sources.resize(as_size(sources));
    peers.targets.resize(as_size(targets));
    Array<std::int32_t> source_weights(as_size(sources)), target_weights(as_size(targets));
    require(world.mpi, "MPI_Dist_graph_neighbors",
            world.mpi.calls.dist_graph_neighbors(world.comm, sources, peers.sources.data(), source_weights.data(),
                                                 targets, peers.targets.data(), target_weights.data()));
}

Blocks blocks_of(const Array<std::int32_t>& peers, const int* counts, const int* displacements) {
    Blocks blocks;
    blocks.peer = peers;
    blocks.count.assign(counts, counts + peers.size());
    blocks.displacement.assign(displacements, displacements + peers.size());
    return blocks;
}

// Both sides of the arguments, checked as far as the exchange cannot.
struct Arguments {
    Blocks sends, receives;
    bool sources_known = true;
};

Arguments check_arguments(const conset_lib_mpi& mpi, const Peers& peers, const conset_lib_blocks& blocks) {
    if (blocks.sendtype == mpi.datatype_null || blocks.recvtype == mpi.datatype_null)
        throw Failure(Code::argument, std::string(blocks.sendtype == mpi.datatype_null ? "sendtype" : "recvtype") +
                                          ": is MPI_DATATYPE_NULL");
    if (mpi.in_place != nullptr && (blocks.sendbuf == mpi.in_place || blocks.recvbuf == mpi.in_place))
        throw Failure(Code::argument, "MPI_IN_PLACE: send and receive buffers must be two");
    const auto require_array = [](const char* name, const int* array, const Array<std::int32_t>& of) {
        if (array == nullptr && !of.empty())
            throw Failure(Code::argument, std::string(name) + ": is NULL, must have " + std::to_string(of.size()) +
                                              (of.size() == 1 ? " entry" : " entries"));
    };
    require_array("sendcounts", blocks.sendcounts, peers.targets);
    require_array("sdispls", blocks.sdispls, peers.targets);
    const bool known = blocks.recvcounts != nullptr;
    if (known) require_array("rdispls", blocks.rdispls, peers.sources);
    Arguments arguments{blocks_of(peers.targets, blocks.sendcounts, blocks.sdispls), {}, known};
    if (known) arguments.receives = blocks_of(peers.sources, blocks.recvcounts, blocks.rdispls);
    return arguments;
}

template <class Handle>
RankBuffers<Handle> buffers_of(const conset_lib_blocks& blocks) {
    return {static_cast<const std::byte*>(blocks.sendbuf), static_cast<std::byte*>(blocks.recvbuf),
            handle_of<Handle>(blocks.sendtype), handle_of<Handle>(blocks.recvtype)};
}

template <class Handle>
class HandleExchange final : public ApplicationExchange {
public:
    HandleExchange(std::unique_ptr<Exchange<Handle>> exchange, const conset_lib_mpi& mpi, Peers peers)
        : exchange_(std::move(exchange)), mpi_(mpi), peers_(std::move(peers)), of_counts_(true) {}
    explicit HandleExchange(std::unique_ptr<Exchange<Handle>> exchange) : exchange_(std::move(exchange)) {}

    Outcome start() override { return exchange_->start(); }
    Outcome progress(bool& done) override { return exchange_->progress(done); }
    Outcome wait() override { return exchange_->wait(); }
    Outcome free() override { return exchange_->free(); }

    Outcome update(const conset_lib_blocks& blocks) override {
        if (!of_counts_) throw Failure(Code::state, "an exchange of a plan cannot be updated");
        Arguments arguments;
        const Outcome before = local_outcome(peers_, [&] { arguments = check_arguments(mpi_, peers_, blocks); });
        return exchange_->update(buffers_of<Handle>(blocks), arguments.sends, arguments.receives, before);
    }

    void describe(conset_info& info) const override {
        copy_text(exchange_->method(), info.method);
        copy_text(exchange_->sync(), info.sync);
        info.phases = exchange_->phases();
        info.rows_s = exchange_->times().rows;
        info.schedule_s = exchange_->times().schedule;
        info.plan_s = exchange_->times().plan;
        copy_text(exchange_->stages().combine, info.combine);
        info.memory_bytes = exchange_->stages().memory;
        info.left_out_bytes = exchange_->stages().left_out;
        info.schedule_run_s = exchange_->times().schedule_run;
        info.mpi_run_s = exchange_->times().mpi_run;
    }

    const Blocks& receives() const override {
        if (!of_counts_) throw Failure(Code::state, "an exchange of a plan has no counts: see conset_plan_buffers");
        return exchange_->receives();
    }

private:
    std::unique_ptr<Exchange<Handle>> exchange_;
    conset_lib_mpi mpi_{};
    Peers peers_;
    bool of_counts_ = false;
};

template <class Handle>
std::unique_ptr<ApplicationExchange> make(const conset_lib_mpi& mpi, const conset_lib_comm& comm, bool neighbor,
                                          const conset_lib_blocks& blocks, const char* options, Outcome& outcome) {
    ExchangeRequest<Handle> request;
    request.world = world_of<Handle>(mpi, comm);
    request.buffers = buffers_of<Handle>(blocks);
    Peers peers;
    outcome = outcome_of([&] {
        require(request.world.mpi, "MPI_Comm_rank", request.world.mpi.calls.comm_rank(request.world.comm, &peers.rank));
    });
    if (outcome.fine())
        outcome = local_outcome(peers, [&] {
            if (neighbor && comm.kind != CONSET_LIB_GRAPH)
                throw Failure(Code::argument, "comm: has no distributed graph (MPI_Dist_graph_create...)");
            neighbor ? add_neighbors(peers, request.world) : add_all_ranks(peers, request.world);
            Arguments arguments = check_arguments(mpi, peers, blocks);
            request.sends = std::move(arguments.sends);
            request.receives = std::move(arguments.receives);
            request.sources_known = arguments.sources_known;
            if (options != nullptr) request.options = ExchangeOptions::parse(options);
        });
    auto exchange = Exchange<Handle>::of_rows(request, outcome);
    if (exchange == nullptr) return nullptr;
    return std::make_unique<HandleExchange<Handle>>(std::move(exchange), mpi, std::move(peers));
}

}  // namespace

std::unique_ptr<ApplicationExchange> make_alltoallv(const conset_lib_mpi& mpi, const conset_lib_comm& comm,
                                                    bool neighbor, const conset_lib_blocks& blocks, const char* options,
                                                    Outcome& outcome) {
    return with_handle(mpi, [&]<class Handle>(std::type_identity<Handle>) {
        return make<Handle>(mpi, comm, neighbor, blocks, options, outcome);
    });
}

template <class Handle>
std::unique_ptr<ApplicationExchange> erase_handle(std::unique_ptr<Exchange<Handle>> exchange) {
    return std::make_unique<HandleExchange<Handle>>(std::move(exchange));
}

template std::unique_ptr<ApplicationExchange> erase_handle(std::unique_ptr<Exchange<int>>);
template std::unique_ptr<ApplicationExchange> erase_handle(std::unique_ptr<Exchange<void*>>);

}  // namespace conset::capi
