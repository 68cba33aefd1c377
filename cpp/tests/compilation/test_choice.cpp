// The choice of auto on toy schedules whose times stand in tables: what is asked for, in which order, and what is
// chosen. Expected orders and times are derived by hand.
#include "conset/compilation/choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "conset/compilation/search.hpp"
#include "conset/stop.hpp"

namespace conset {
namespace {

using Strings = Array<std::string>;

constexpr SyncPolicy kNone{}, kLocal{SyncKind::local}, kReady{SyncKind::ready}, kBarrier{SyncKind::barrier},
    kBarrier2{SyncKind::barrier, 2};

std::string text(const SyncPolicy& policy) {
    return std::string(kSyncNames[static_cast<std::size_t>(policy.kind)]) +
           (policy.every > 1 ? ":" + std::to_string(policy.every) : "");
}

// Schedules are named by method and contention: `gen`, `bounded@2`; trials by schedule, policy and sends in flight:
// `gen none`, `gen barrier:2/4`. Entries of a model that is not the machine's start with its name: `flow: gen none`.
class Tables : public Evaluator {
public:
    std::string own = "wormhole";
    std::map<std::string, TrialBase> schedules;
    Array<TrialBase> posted;                             // the naive exchange in other orders
    std::map<std::string, double> simulated, predicted;  // 1000 and 10 where there is no entry
    std::map<std::string, Refusal> refusals;
    std::map<std::string, std::int64_t> works;  // 1 where there is no entry
    std::set<std::string> crowded;              // trials whose receives do not fit
    double floor = 0;
    std::function<void(const std::string&)> before_simulation = [](const std::string&) {};

    std::string asked, predictions;  // batches end with `; `
    Array<double> until, stages;     // of batches of the machine's model; of the whole
    Array<std::int64_t> most;        // counted work that a trial of each batch may take
    Array<Attempt> attempts;
    Array<std::size_t> made_together;
    std::map<std::string, std::string> flights;  // tried of every schedule and policy, below the machine's

    // A schedule that is made for its method and contention.
    TrialBase& add(const std::string& name, const Array<SyncPolicy>& policies, std::int64_t phases = 3) {
        TrialBase& made = schedules[name];
        made.method = name.substr(0, name.find_first_of("@ "));
        made.model = own;
        made.key = name;
        made.policies = policies;
        made.phases = phases;
        made.most_in_flight = 1;
        return made;
    }
    static std::string name(const TrialBase& base, const Trial& trial) {
        const std::string flight = trial.in_flight > 0 ? "/" + std::to_string(trial.in_flight) : "";
        return base.key + " " + text(trial.policy) + flight;
    }

    Array<std::optional<TrialBase>> make(View<const Attempt> wanted) override {
        made_together.push_back(wanted.size());
        Array<std::optional<TrialBase>> made;
        for (const Attempt& each : wanted) {
            attempts.push_back(each);
            const auto found =
                schedules.find(each.method + (each.contention > 0 ? "@" + std::to_string(each.contention) : ""));
            made.push_back(found == schedules.end() ? std::nullopt : std::optional(found->second));
        }
        return made;
    }
    Array<TrialBase> orders(const TrialBase&) override { return posted; }
    void predict(View<const TrialBase> bases, View<Trial> trials) override {
        for (Trial& trial : trials) {
            const std::string of = name(bases[trial.base], trial);
            predictions += of + ", ";
            trial.predicted_s = found(predicted, "", of, 10.0);
            trial.fits = !crowded.contains(of);
        }
    }
    Array<Simulation> simulate(View<const TrialBase> bases, View<const Trial> trials, double until_s,
                               std::int64_t max_work) override {
        Array<Simulation> ends;
        for (const Trial& trial : trials) {
            const TrialBase& base = bases[trial.base];
            const std::string by = trial.model == own ? "" : trial.model + ": ", of = name(base, trial);
            before_simulation(by + of);
            asked += by + of + (&trial == &trials.back() ? "; " : ", ");
            if (trial.in_flight > 0) flights[base.key + " " + text(trial.policy)] += std::to_string(trial.in_flight);
            const Refusal refusal = found(refusals, by, of, Refusal::none);
            const std::int64_t work = found(works, by, of, std::int64_t{1});
            const double time_s = found(simulated, by, of, 1000.0);
            const bool cut = work > max_work, ends_in_time = !cut && time_s <= until_s;
            ends.push_back({ends_in_time ? time_s : kNever, std::min(work, max_work), cut, refusal});
        }
        until.push_back(until_s);
        most.push_back(max_work);
        return ends;
    }
    double floor_s(const TrialBase&) override { return floor; }
    double crowding(const TrialBase&) override { return 9.5; }
    std::int64_t least_phases(const TrialBase&) override { return 3; }
    void progress(double done) override { stages.push_back(done); }

private:
    // By this model, else by any.
    template <class T>
    static T found(const std::map<std::string, T>& table, const std::string& by, const std::string& of, T otherwise) {
        for (const std::string& key : {by + of, of})
            if (const auto at = table.find(key); at != table.end()) return at->second;
        return otherwise;
    }
};

class Choice : public ::testing::Test {
protected:
    Choice() {
        question.situation.ranks = 4;
        question.situation.messages = 12;
        question.model = tables.own;
        question.models = {tables.own};
    }
    void TearDown() override { reset_search(); }

    void own_model(const std::string& model) {
        question.model = tables.own = model;
        question.models = {model};
        for (auto& [name, base] : tables.schedules) base.model = model;
        for (TrialBase& base : tables.posted) base.model = model;
    }
    void choose() { verdict = choose_schedule(tables, question); }
    std::string chosen() const { return named(verdict.chosen); }
    std::string named(const Trial& trial) const { return Tables::name(verdict.bases[trial.base], trial); }
    Strings models() const {
        Strings names;
        for (const ModelTimes& times : verdict.models) names.push_back(times.model);
        return names;
    }
    bool was_asked(const std::string& part) const { return tables.asked.find(part) != std::string::npos; }

    Tables tables;
    Question question;
    Decision verdict;
};

// Six schedules under `none`.
class Searching : public ::testing::Test {
protected:
    Searching() {
        for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
            bases.push_back(tables.add(name, {kNone}));
            trials.push_back({.base = static_cast<std::int32_t>(trials.size()), .policy = kNone});
        }
        tables.simulated = {{"a none", 9}, {"b none", 7},   {"c none", 8},
                            {"d none", 7}, {"e none", 7.2}, {"f none", 7.4}};
    }
    void TearDown() override { reset_search(); }
    TrialSearch search(std::int64_t budget, double floor_s = 0, double beat_s = kNever) {
        return {tables, bases, "wormhole", budget, floor_s, beat_s};
    }

    Tables tables;
    Array<TrialBase> bases;
    Array<Trial> trials;
};

TEST_F(Searching, EndsWithTheLeastTimeInBatchesOfFour) {
    TrialSearch full = search(100);
    for (const char* each : {"a none", "b none", "c none", "d none"}) tables.works[each] = 10;
    full.run(trials, {.slack = 1.05, .single = 1}, 0);
    EXPECT_EQ(tables.asked, "a none, b none, c none, d none; e none, f none; ");
    EXPECT_EQ(tables.until, (Array<double>{kNever, 7 * 1.05}));
    EXPECT_EQ(tables.most, (Array<std::int64_t>{100 / 4, (100 - 4 * 10) / 2}));  // equal shares of what is left
    EXPECT_EQ(tables.stages, (Array<double>{4.0 / 6, 1}));
    ASSERT_NE(full.best(), nullptr);
    EXPECT_EQ(*full.best(), trials[1]);  // the first of equals
    EXPECT_EQ(full.best_s(), 7);
    EXPECT_EQ(full.simulated(), 6);
    EXPECT_TRUE(full.skipped().empty());
    EXPECT_EQ(full.finished().size(), 5U);            // all but the one that was stopped,
    EXPECT_EQ(full.least().back().time_s, 7 * 1.05);  // whose time is known to be more
    EXPECT_FALSE(full.is_over());
    TrialSearch single = search(800);
    single.run(trials, {});
    EXPECT_EQ(tables.most[2], 800 / 8);  // of one trial
}

TEST_F(Searching, LeavesOutWhatEffortDoesNotAllow) {
    TrialSearch few = search(1);
    for (const char* each : {"a none", "b none", "c none", "d none"}) tables.works[each] = 2;
    few.run(trials, {});
    EXPECT_EQ(few.best(), nullptr);
    EXPECT_EQ(few.simulated(), 4);
    EXPECT_EQ(few.skipped(), trials);
    EXPECT_TRUE(few.is_over());
    TrialSearch half = search(16);
    half.run(trials, {.share = 0.25, .single = 1});  // the first four take four of sixteen
    EXPECT_EQ(half.skipped(), trials);
    EXPECT_EQ(half.simulated(), 4);
    tables.works.clear();
    half.run(trials, {.single = 1});
    EXPECT_TRUE(half.skipped().empty()) << "what is simulated to its end is no longer left out";
}

TEST_F(Searching, StopsAtTheFloorAndSkipsWhatBarriersAloneMakeSlower) {
    TrialSearch met = search(100, 7);
    met.run({trials[1]}, {});
    met.run(trials, {});
    EXPECT_EQ(met.simulated(), 1);
    EXPECT_TRUE(met.is_over());
    bases[0].barrier_s = 3;  // two of three phases: 6 s
    const Trial barriers{.base = 0, .policy = kBarrier}, fewer{.base = 0, .policy = kBarrier2};
    TrialSearch skipping = search(100, 1);
    skipping.add_finished(Trial{.base = 1, .policy = kNone, .time_s = 7});
    EXPECT_FALSE(skipping.may_win(barriers));
    EXPECT_TRUE(skipping.may_win(barriers, 1.02));
    EXPECT_TRUE(skipping.may_win(fewer));
    EXPECT_TRUE(skipping.may_win(trials[0]));
    skipping.run({barriers, fewer}, {});
    skipping.run({barriers}, {.slack = 1.02, .equals = true});
    EXPECT_EQ(tables.asked, "b none; a barrier:2; a barrier; ");
    TrialSearch beaten = search(100, 0, 7.3);
    beaten.run({trials[2], trials[4]}, {});
    EXPECT_EQ(tables.until.back(), 7.3);
    EXPECT_EQ(beaten.finished(), (Array<Trial>{trials[4]}));
}

TEST_F(Searching, KnowsWhatWasRefusedAndWhatTakesAsLongAsTheNaiveExchange) {
    tables.refusals["a none"] = Refusal::deadlock;
    TrialSearch found = search(100);
    found.run({trials[0], {.base = 1, .policy = kNone, .in_flight = 2}}, {});
    ASSERT_EQ(found.refused().size(), 1U);
    EXPECT_TRUE(found.is_known(trials[0]));
    EXPECT_FALSE(found.is_known(trials[1])) << "fewer sends in flight say nothing of the machine's number";
    bases[0].shares = true;
    const TrialSearch flow(tables, bases, "flow", 100), wormhole = search(100);
    EXPECT_TRUE(flow.is_as_posted(trials[0]));
    EXPECT_FALSE(flow.is_as_posted(trials[1]));
    EXPECT_FALSE(flow.is_as_posted({.base = 0, .policy = kLocal}));
    EXPECT_FALSE(flow.is_as_posted({.base = 0, .policy = kNone, .in_flight = 2}));
    EXPECT_FALSE(wormhole.is_as_posted(trials[0]));
}

// First the naive exchange, then the first under each policy (`none` is done with last), then all under `none`, which
// is best. The rest by corrected times: `local` took 90/5 of what was predicted, `barrier` 95/8; gen under `none` 84/3,
// 5.1 times as much as coloring with 60/11. So: coloring local 126, gen local 554; coloring barrier 119 and gen barrier
// 549 are beyond 1.4 times 60. Last, to their ends, what has barriers and was stopped: it might be as fast.
TEST_F(Choice, TriesTheMostPromisingFirst) {
    tables.add("naive", {kNone});
    for (const char* method : {"lp", "gen", "coloring"}) tables.add(method, {kNone, kLocal, kBarrier});
    tables.predicted = {{"naive none", 1},  {"lp none", 2},          {"gen none", 3},       {"coloring none", 11},
                        {"lp local", 5},    {"gen local", 6},        {"coloring local", 7}, {"lp barrier", 8},
                        {"gen barrier", 9}, {"coloring barrier", 10}};
    tables.simulated = {{"naive none", 100},   {"lp none", 80},  {"gen none", 85},
                        {"coloring none", 60}, {"lp local", 90}, {"lp barrier", 95}};
    choose();
    EXPECT_EQ(tables.asked,
              "naive none; lp local, lp barrier, lp none; gen none, coloring none; "
              "coloring local, gen local; gen barrier, coloring barrier; "
              "flow: coloring none; flow: naive none; ");
    EXPECT_EQ(chosen(), "coloring none");
    EXPECT_EQ(verdict.tried, 10);
    EXPECT_EQ(verdict.allowed, 5'000'000);
    EXPECT_EQ(models(), (Strings{"wormhole", "flow", kFormula}));
    EXPECT_EQ(named(verdict.models[0].best), "lp none");
    EXPECT_EQ(verdict.models[0].posted_s, 100);
    EXPECT_EQ(verdict.models[2].chosen_s, 11);
    tables.asked.clear();
    for (auto& [name, base] : tables.schedules) base.measured = true;
    choose();
    EXPECT_FALSE(was_asked("local")) << "where a library buffers what it sends";
}

TEST_F(Choice, TriesFewerSendsInFlight) {
    for (const char* method : {"naive", "lp", "gen", "coloring", "first-fit", "rs-n"})
        tables.add(method, {kNone, kBarrier}).most_in_flight = 5;
    tables.schedules["naive"].policies = tables.schedules["rs-n"].policies = {kNone};
    tables.schedules["coloring"].policies = {kBarrier};
    tables.posted = {tables.add("naive rotated", {kNone})};
    tables.posted[0].most_in_flight = 5;
    tables.posted[0].posting = "rotated";
    tables.simulated = {
        {"naive none", 100}, {"lp none", 101},     {"lp barrier", 102},       {"coloring barrier", 103},
        {"gen none", 103.5}, {"gen barrier", 104}, {"first-fit none", 104.2}, {"naive rotated none", 104.5}};
    choose();
    // the best six and the naive exchange in every order; of the others the first two, below 5, under `none`
    const std::map<std::string, std::string> expected{
        {"naive none", "124"},       {"lp none", "124"},  {"lp barrier", "124"},
        {"coloring barrier", "124"}, {"gen none", "124"}, {"gen barrier", "124"},
        {"first-fit none", "12"},    {"rs-n none", "12"}, {"naive rotated none", "124"}};
    EXPECT_EQ(tables.flights, expected);
    EXPECT_EQ(chosen(), "naive none");
    tables.flights.clear();
    question.policy = kBarrier;
    choose();
    EXPECT_EQ(tables.flights.count("rs-n none") + tables.flights.count("naive none"), 0U);
    EXPECT_EQ(tables.flights["naive barrier"], "124");
    tables.flights.clear();
    question.policy.reset();
    own_model("packet");
    choose();
    EXPECT_TRUE(tables.flights.empty()) << "windows in the network keep what is under way";
}

struct Robust {
    const char* model;
    bool measured;
    double posted, ready, barrier, barrier2;  // [s]
    const char* chosen;
};

class RobustChoice : public Choice, public ::testing::WithParamInterface<Robust> {};

TEST_P(RobustChoice, PrefersBarriersWithinTheErrorOfAModel) {
    const Robust& row = GetParam();
    tables.add("naive", {kNone});
    tables.add("lp", {kReady});
    tables.add("gen", {kBarrier, kBarrier2});
    tables.add("coloring", {kBarrier});
    own_model(row.model);
    for (auto& [name, base] : tables.schedules) base.measured = row.measured;
    tables.predicted["coloring barrier"] = 9;  // tried before gen, which is before it in the list of methods
    tables.simulated = {{"naive none", row.posted},
                        {"lp ready", row.ready},
                        {"gen barrier", row.barrier},
                        {"coloring barrier", row.barrier},
                        {"gen barrier:2", row.barrier2}};
    choose();
    EXPECT_EQ(chosen(), row.chosen);
    const double least = std::min({row.posted, row.ready, row.barrier, row.barrier2});
    EXPECT_EQ(verdict.is_fastest, verdict.chosen.time_s == least);
}

INSTANTIATE_TEST_SUITE_P(Times, RobustChoice,
                         ::testing::Values(Robust{"wormhole", false, 200, 100, 101.9, 100.5, "gen barrier"},
                                           Robust{"circuit", false, 200, 100, 101.9, 100.5, "gen barrier"},
                                           Robust{"packet", false, 200, 100, 101.9, 100.5, "gen barrier"},
                                           Robust{"flow", false, 200, 100, 101.9, 100.5, "lp ready"},
                                           Robust{"wormhole", false, 200, 100, 102.1, 100.5, "lp ready"},
                                           Robust{"wormhole", false, 101, 100, 101.5, 100.5, "lp ready"},
                                           Robust{"wormhole", false, 100, 104, 101, 102, "naive none"},
                                           Robust{"wormhole", false, 200, 101, 100.5, 100, "gen barrier"},
                                           Robust{"wormhole", false, 200, 101, 102.5, 100, "gen barrier:2"},
                                           Robust{"wormhole", true, 200, 100, 104.9, 100.5, "gen barrier"},
                                           Robust{"wormhole", true, 200, 100, 105.1, 100.5, "gen barrier:2"},
                                           Robust{"wormhole", true, 200, 101, 100.5, 100, "gen barrier:2"},
                                           Robust{"wormhole", true, 104.9, 100, 101, 101, "naive none"},
                                           Robust{"wormhole", true, 105.1, 100, 110, 110, "lp ready"},
                                           Robust{"flow", true, 104.9, 100, 101, 101, "naive none"},
                                           Robust{"packet", true, 114.9, 100, 101, 101, "naive none"},
                                           Robust{"packet", true, 115.1, 100, 110, 110, "lp ready"}));

TEST_F(Choice, PostsInRotatedOrderOnMeasuredMachines) {
    tables.add("naive", {kNone}).measured = true;
    tables.posted = {tables.add("naive rotated", {kNone})};
    tables.posted[0].posting = kRotated;
    tables.posted[0].measured = true;
    tables.add("lp", {kNone}).measured = true;
    for (const auto& [rotated, lp, expected] : {std::tuple(100.0, 110.0, "naive rotated none"),
                                                {104.9, 110.0, "naive rotated none"},
                                                {105.1, 110.0, "naive none"},
                                                {100.0, 99.0, "naive rotated none"},
                                                {100.0, 90.0, "lp none"}}) {
        tables.simulated = {{"naive none", 100}, {"naive rotated none", rotated}, {"lp none", lp}};
        choose();
        EXPECT_EQ(chosen(), expected);
    }
    for (TrialBase* base : {&tables.schedules["naive"], &tables.schedules["lp"], &tables.posted[0]})
        base->measured = false;
    tables.simulated["lp none"] = 110;
    choose();
    EXPECT_EQ(chosen(), "naive none") << "the first of equals";
}

// Two barriers of 50.3 s alone take longer than the best, but not by 2 %.
TEST_F(Choice, SimulatesBarriersThatCannotWinButAreAsFast) {
    tables.add("naive", {kNone});
    tables.add("lp", {kReady});
    tables.add("coloring", {kBarrier});
    tables.add("gen", {kBarrier}).barrier_s = 50.3;
    tables.predicted["coloring barrier"] = 1;
    tables.simulated = {{"naive none", 200}, {"lp ready", 100}, {"gen barrier", 101.5}};
    choose();
    EXPECT_TRUE(was_asked("lp ready, coloring barrier; coloring barrier, gen barrier; flow:")) << tables.asked;
    EXPECT_EQ(chosen(), "gen barrier");
    tables.asked.clear();
    tables.schedules["gen"].barrier_s = 51.1;
    choose();
    EXPECT_FALSE(was_asked("gen")) << tables.asked;
    EXPECT_EQ(chosen(), "lp ready");
    tables.schedules["gen"].barrier_s = 0.5;
    tables.floor = 100;
    choose();
    EXPECT_EQ(chosen(), "gen barrier") << "nothing is faster than lp, but what is as fast is wanted";
}

// Where the naive exchange is what the bound says, others are tried by the other models alone.
TEST_F(Choice, EndsAtTheFloor) {
    tables.add("naive", {kNone});
    tables.add("lp", {kNone, kBarrier});
    tables.floor = 100;
    tables.simulated = {{"naive none", 100}, {"flow: naive none", 300}, {"flow: lp barrier", 200}};
    choose();
    EXPECT_EQ(tables.asked, "naive none; flow: naive none; flow: lp none, flow: lp barrier; ");
    EXPECT_TRUE(verdict.optimal);
    EXPECT_EQ(verdict.models[1].chosen_s, 300);
    EXPECT_EQ(verdict.models[1].posted_s, 300);
    EXPECT_EQ(verdict.models[1].best_s, 200);
    EXPECT_EQ(named(verdict.models[1].best), "lp barrier");
    EXPECT_TRUE(std::is_sorted(tables.stages.begin(), tables.stages.end()));
    ASSERT_EQ(verdict.estimated.size(), 2) << "lp, which has no time, is predicted as long as what was chosen";
    EXPECT_EQ(named(verdict.estimated[1]), "lp barrier");
    EXPECT_EQ(verdict.estimated[1].time_s, 100);
    const std::string lp = "naive none; lp none, lp barrier; ";
    question.hashed = true;  // the bound is of an expectation
    tables.asked.clear();
    choose();
    EXPECT_EQ(tables.asked.substr(0, lp.size()), lp);
    EXPECT_FALSE(verdict.optimal);
    EXPECT_EQ(verdict.estimated[0].time_s, 105) << "it was stopped then";
    tables.asked.clear();
    question.hashed = false;
    question.effort = 2;
    question.situation.messages = kLarge + 1;
    choose();
    EXPECT_EQ(tables.asked.substr(0, lp.size()), "naive none; flow: naive none; flo");
    EXPECT_TRUE(verdict.optimal);
    tables.asked.clear();
    question.beat_s = 99;  // less than what anything takes: nothing is simulated, no other schedule made
    choose();
    EXPECT_EQ(verdict.failed, Failed::none_faster);
    EXPECT_EQ(tables.asked, "");
}

// One trial under each policy says whether a schedule can come near the rival.
TEST_F(Choice, EndsEarlyWhereARivalIsFarAhead) {
    tables.add("naive", {kNone});
    tables.add("lp", {kNone, kBarrier});
    tables.add("gen", {kNone, kBarrier});
    tables.simulated = {
        {"naive none", 100}, {"lp none", 90}, {"lp barrier", 70}, {"gen none", 65}, {"gen barrier", 60}};
    tables.predicted = {{"lp none", 1}, {"lp barrier", 1}, {"gen none", 2}, {"gen barrier", 2}};
    question.rival_s = 34;
    choose();
    EXPECT_EQ(chosen(), "lp barrier");
    EXPECT_FALSE(was_asked("gen"));
    question.rival_s = 36;
    choose();
    EXPECT_EQ(chosen(), "gen barrier");
    question.rank_by = kFormula;
    tables.predicted["naive none"] = 50;
    choose();
    EXPECT_EQ(verdict.models[0].chosen_s, 1);
    question.rival_s = 24;
    choose();
    EXPECT_EQ(chosen(), "naive none");
}

TEST_F(Choice, SkipsWhatFlowCannotTellFromTheNaiveExchange) {
    own_model("flow");
    tables.add("naive", {kNone}).shares = true;
    tables.add("gen", {kNone, kLocal}).shares = true;
    tables.simulated = {{"naive none", 100}};
    choose();
    EXPECT_EQ(tables.asked, "naive none; gen local; wormhole: naive none; wormhole: gen local; ");
}

TEST_F(Choice, LetsTheFormulaDecideWhereTheNaiveExchangeTakesTooManySteps) {
    tables.add("naive", {kNone});
    tables.posted = {tables.add("naive rotated", {kNone})};
    tables.add("lp", {kNone});
    tables.works["naive none"] = 2'500'001;  // half of 5,000,000
    tables.predicted = {{"naive none", 50}, {"lp none", 60}};
    tables.simulated = {{"naive none", 70}, {"lp none", 100}};
    choose();
    EXPECT_EQ(verdict.instead, Instead::too_long);
    EXPECT_EQ(chosen(), "naive none");
    EXPECT_EQ(models(), Strings{kFormula});
    EXPECT_FALSE(was_asked("rotated"));
    tables.predicted["naive none"] = 101;
    choose();
    EXPECT_EQ(verdict.instead, Instead::nothing);
    EXPECT_EQ(chosen(), "lp none");
    EXPECT_EQ(verdict.left_out, 1);
    tables.works["naive none"] = 2'500'000;
    choose();
    EXPECT_EQ(chosen(), "naive none");
}

TEST_F(Choice, SaysWhyThereIsNoTime) {
    choose();
    EXPECT_EQ(verdict.failed, Failed::no_method);
    tables.add("naive", {kNone});
    tables.add("lp", {kNone, kBarrier});
    tables.predicted["lp barrier"] = 5;
    question.situation.messages = 101;
    question.most_simulated = 50;
    question.effort = 2;
    choose();
    EXPECT_EQ(verdict.instead, Instead::many);
    EXPECT_EQ(tables.asked, "");
    question.situation.messages = 100;
    for (const char* each : {"naive none", "lp none", "lp barrier"}) tables.works[each] = 100'000'000;
    choose();
    EXPECT_EQ(verdict.instead, Instead::no_end);
    EXPECT_EQ(chosen(), "lp barrier");
    for (const char* each : {"naive none", "lp none", "lp barrier"}) tables.refusals[each] = Refusal::deadlock;
    tables.works.clear();
    choose();
    EXPECT_EQ(verdict.failed, Failed::no_simulation);
    EXPECT_EQ(verdict.tried, 3);
    tables.refusals.clear();
    question.beat_s = 900;  // all take 1000
    choose();
    EXPECT_EQ(verdict.failed, Failed::none_faster);
}

TEST_F(Choice, KeepsTheBestSoFarWhenItIsStopped) {
    tables.add("naive", {kNone});
    tables.add("lp", {kNone});
    tables.simulated = {{"naive none", 100}, {"lp none", 50}};
    tables.before_simulation = [](const std::string&) { ask_stop(); };
    choose();
    EXPECT_EQ(tables.asked, "naive none; ");
    EXPECT_EQ(chosen(), "naive none");
    EXPECT_EQ(models(), (Strings{"wormhole", kFormula}));
    reset_search();
    tables.before_simulation = [](const std::string& trial) {
        if (trial == "flow: lp none") throw Interrupted();
    };
    choose();
    EXPECT_EQ(chosen(), "lp none");
    EXPECT_EQ(models(), (Strings{"wormhole", kFormula}));
    tables.before_simulation = [](const std::string&) { throw Interrupted(); };
    choose();
    EXPECT_EQ(verdict.instead, Instead::no_end);
}

TEST_F(Choice, AsksOtherModels) {
    tables.add("naive", {kNone});
    tables.add("lp", {kNone});
    tables.simulated = {{"naive none", 100}, {"lp none", 50}, {"flow: lp none", 60}};
    struct Row {
        const char* own;
        Strings all;
        bool adaptive;
        Strings asked;
    };
    for (const Row& row : {Row{"wormhole", {"wormhole"}, false, {"wormhole", "flow", kFormula}},
                           Row{"flow", {"flow"}, false, {"flow", "wormhole", kFormula}},
                           Row{"flow", {"flow", "circuit"}, false, {"flow", "circuit", kFormula}},
                           Row{"packet", {"packet"}, false, {"packet", "flow", "wormhole", kFormula}},
                           Row{"packet", {"packet"}, true, {"packet", "flow", kFormula}},
                           Row{"flow", {"flow"}, true, {"flow", kFormula}}}) {
        own_model(row.own);
        question.models = row.all;
        question.adaptive = row.adaptive;
        choose();
        EXPECT_EQ(models(), row.asked);
    }
    own_model("wormhole");
    choose();
    EXPECT_EQ(tables.most.back(), 16'000'000 / 8);  // one part in eight of what flow may spend where it decides
    EXPECT_EQ(verdict.models[1].chosen_s, 60);
    EXPECT_EQ(verdict.models[1].posted_s, 100);
    EXPECT_EQ(verdict.models[1].best_s, std::nullopt);
    tables.works["flow: naive none"] = 2'000'001;
    choose();
    EXPECT_EQ(verdict.models[1].refused, Refusal::steps);
    tables.refusals = {{"flow: naive none", Refusal::room}, {"naive none", Refusal::deadlock}};
    choose();
    EXPECT_EQ(verdict.models[0].refused, Refusal::deadlock);
    EXPECT_EQ(verdict.models[1].refused, Refusal::room);
    EXPECT_EQ(verdict.models[1].posted_s, std::nullopt);
}

TEST_F(Choice, SimulatesEachMethodByItsOwnModel) {
    tables.add("naive", {kNone}).model = "flow";
    tables.add("lp", {kNone});
    tables.simulated = {{"flow: naive none", 100}, {"lp none", 50}};
    question.models = {"flow", "wormhole"};
    choose();
    EXPECT_EQ(tables.asked, "flow: naive none; lp none; flow: lp none; flow: naive none; ");
    EXPECT_EQ(verdict.allowed, 16'000'000) << "the most of both";
    EXPECT_EQ(verdict.known[0].model, "flow");
    tables.asked.clear();
    question.rank_by = "circuit";
    choose();
    EXPECT_EQ(tables.asked.substr(0, tables.asked.find(" flow")), "circuit: naive none; circuit: lp none;");
}

TEST_F(Choice, MakesEveryScheduleOnce) {
    tables.add("naive", {kNone});
    tables.add("lp", {kNone});
    tables.add("first-fit", {kNone}).key = "lp";
    tables.add("first-fit@16", {kNone});
    const TrialBase rotated = tables.add("naive rotated", {kNone});
    tables.posted = {rotated, tables.schedules["naive"], rotated};
    choose();
    EXPECT_EQ(verdict.bases.size(), 3U);
    EXPECT_EQ(tables.made_together, (Array<std::size_t>{1, tables.attempts.size() - 1}));
    const auto tried = [&](const std::string& method) {
        Array<std::pair<std::int32_t, std::int64_t>> found;
        for (const Attempt& each : tables.attempts)
            if (each.method == method) found.emplace_back(each.contention, each.effort);
        return found;
    };
    EXPECT_EQ(tried("naive").size(), 1U);
    EXPECT_EQ(tried("first-fit"), (decltype(tried(""))({{0, 1}}))) << "there are no links";
    tables.attempts.clear();
    question.situation.has_links = true;
    question.situation.equal_sizes = false;
    choose();
    EXPECT_EQ(verdict.bases.size(), 4U);
    EXPECT_EQ(tried("first-fit"), (decltype(tried(""))({{0, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}})));
    EXPECT_EQ(tried("decreasing").front().second, 0) << "the first unit of effort is the construction";
    tables.attempts.clear();
    question.limits_given = true;
    choose();
    EXPECT_EQ(tried("first-fit").size(), 1U);
}

TEST_F(Choice, PredictsEveryTrialByFormula) {
    question.rank_by = kFormula;
    tables.add("naive", {kNone});
    tables.add("lp", {kNone, kBarrier});
    tables.add("gen", {kNone}, 4);
    tables.add("coloring", {kNone}, 3);
    tables.predicted = {{"lp none", 5},    {"gen none", 5},    {"coloring none", 5},
                        {"lp barrier", 9}, {"gen barrier", 8}, {"coloring barrier", 8}};
    choose();
    EXPECT_EQ(chosen(), "coloring none") << "with barriers lp takes longer, gen has more phases";
    EXPECT_EQ(verdict.tried, 5);
    EXPECT_EQ(named(verdict.models[0].best), "lp none");
    tables.schedules["coloring"].phases = 4;
    choose();
    EXPECT_EQ(chosen(), "gen none") << "the order of the list";
    tables.predicted["naive none"] = 1;
    tables.crowded = {"naive none"};
    choose();
    EXPECT_EQ(chosen(), "gen none");
    EXPECT_EQ(verdict.models[0].refused, Refusal::room);
    EXPECT_EQ(verdict.models[0].posted_s, std::nullopt);
    tables.crowded.clear();
    tables.floor = 1;
    tables.predictions.clear();
    choose();
    EXPECT_TRUE(verdict.optimal);
    EXPECT_EQ(tables.predictions, "naive none, ") << "nothing can be faster";
    EXPECT_EQ(tables.asked, "");
}

TEST_F(Choice, PredictsLargeSchedulesUnderFewPolicies) {
    question.rank_by = kFormula;
    question.situation.messages = kLarge + 1;
    tables.predicted = {{"naive none", 1}, {"lp local", 0.5}};
    const std::string lp = "lp local, lp ready, lp barrier, ", all = "lp none, " + lp;
    for (const auto& [shares, naive, expected] :
         {std::tuple(true, true, "naive none, " + lp), std::tuple(false, true, "naive none, " + all),
          std::tuple(true, false, all)}) {
        tables.schedules.clear();
        tables.add("lp", {kNone, kLocal, kReady, kBarrier, kBarrier2});
        if (naive) tables.add("naive", {kNone});
        for (auto& [name, base] : tables.schedules) {
            base.transfers = kLarge + 1;
            base.shares = shares;
        }
        tables.predictions.clear();
        choose();
        EXPECT_EQ(tables.predictions, expected);
    }
    tables.schedules["lp"].transfers = kLarge;
    tables.predictions.clear();
    choose();
    EXPECT_EQ(tables.predictions, all + "lp barrier:2, ");
    question.policy = kBarrier2;
    choose();
    EXPECT_EQ(chosen(), "lp barrier:2");
}

TEST_F(Choice, KeepsTheFewestPhases) {
    question.rank_by = kFormula;
    question.fewest_phases = true;
    tables.add("lp", {kNone}, 4);
    tables.add("gen", {kNone}, 3).load = 7;
    tables.add("coloring", {kNone}, 3);
    tables.predicted = {{"lp none", 1}, {"gen none", 2}};
    choose();
    EXPECT_EQ(chosen(), "gen none") << "the bound is 3: nothing after it is made";
    EXPECT_EQ(tables.made_together, (Array<std::size_t>{1, 2}));
    EXPECT_EQ(tables.attempts.back().effort, 4);
    tables.schedules["gen"].phases = 4;
    choose();
    EXPECT_EQ(chosen(), "coloring none");
    tables.schedules["gen"].phases = 1;
    tables.add("naive", {kNone}, 1).load = 8;
    choose();
    EXPECT_EQ(chosen(), "gen none") << "of one phase, with less load than the naive exchange";
    EXPECT_EQ(verdict.tried, 1);
    EXPECT_EQ(tables.attempts.back().effort, 1);
}

TEST_F(Choice, ChoosesThePolicyAlone) {
    const TrialBase made = tables.add("lp", {kNone, kLocal, kBarrier});
    tables.predicted = {{"lp none", 3}, {"lp local", 1}, {"lp barrier", 2}};
    tables.simulated = {{"lp none", 9}, {"lp local", 8}, {"lp barrier", 7.9}};
    verdict = choose_policy(tables, question, made);
    EXPECT_EQ(tables.asked, "lp local, lp barrier, lp none; flow: lp barrier; ");
    EXPECT_EQ(chosen(), "lp barrier");
    EXPECT_EQ(verdict.models[0].best_s, 8) << "the next best is another policy of the same schedule";
    TrialBase measured = made;
    measured.measured = true;
    tables.asked.clear();
    verdict = choose_policy(tables, question, measured);
    EXPECT_EQ(tables.asked, "lp barrier, lp none; flow: lp barrier; ") << "no local where it was measured";
    question.policy = kNone;
    verdict = choose_policy(tables, question, made);
    EXPECT_EQ(chosen(), "lp none");
    tables.refusals["lp none"] = Refusal::room;
    verdict = choose_policy(tables, question, made);
    EXPECT_EQ(verdict.failed, Failed::no_simulation);
    question.policy.reset();
    question.rank_by = kFormula;
    verdict = choose_policy(tables, question, made);
    EXPECT_EQ(chosen(), "lp local");
    question.rank_by = "flow";
    question.most_simulated = 11;
    verdict = choose_policy(tables, question, made);
    EXPECT_EQ(verdict.instead, Instead::many);
    question.most_simulated = 12;
    for (const char* each : {"lp none", "lp local", "lp barrier"}) tables.works[each] = 100'000'000;
    tables.refusals.clear();
    verdict = choose_policy(tables, question, made);
    EXPECT_EQ(verdict.failed, Failed::none_faster);
    EXPECT_EQ(verdict.allowed, 16'000'000);
}

}  // namespace
}  // namespace conset
