#include "gpu/runs/snapshot_json.h"

#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/changes.h"

namespace warpscope::training::snapshot_json_test {
namespace {

using nlohmann::json;

OpTiming timing() {
  OpTiming row;
  row.op = ops::Op::conv2d_forward;
  row.layer = "conv1";
  row.variant = "implicit_gemm";
  row.shape = {64, 32, 32, 3, 256, 3, 3, 50000, {ops::Op::bias_forward}};
  ops::visit_parameters(row.shape, [](ops::Parameter, auto& value, auto standard) {
    using T = decltype(standard);
    value = static_cast<T>(standard == T{} ? 1 : 3);
  });
  row.microseconds = 12.5;
  row.previous_microseconds = 80.25;
  row.previous_variant = "naive";
  row.samples = 31;
  row.flops = 1.5e9;
  row.bytes = 2.5e6;
  row.covered_by = OpPlace{ops::Op::linear_backward_weights, "fc1"};
  row.covers = {{ops::Op::bias_forward, "conv1"}, {ops::Op::relu_forward, "relu1"}};
  row.reason = "relu1 is read by pool1";
  row.spread = 0.5;
  row.previous_spread = 0.25;
  row.previous_samples = 9;
  row.control = {40.5, 41.5, 8};
  return row;
}

/// Every field that is written has a value of its own.
Snapshot full() {
  Snapshot s;
  s.state = TrainerState::paused;
  s.notice = "no \"memory\"\n\xC3\xBC";
  s.notice_id = 3;
  s.failed_by_input = true;
  s.generation = 2;
  s.step = 123456789012;
  s.steps_planned = 200000000000;
  s.epoch = 1.25;
  s.seconds = 77.5;
  s.images_per_second = 412000.5;
  for (const MetricRow& row : metrics()) {
    s.last[row.metric] = 0.012345678f + static_cast<float>(row.metric);
    s.last_test[row.metric] = 0.5f + static_cast<float>(row.metric);
  }
  s.skipped_steps = 4;
  TrainingSettings& settings = tests::settings_of(s);
  settings.batch = 64;
  s.model = "mlp";
  s.classifies = true;
  settings.optimizer = defaults_of(ops::UpdateRule::adamw);
  settings.optimizer.accumulate = 4;
  settings.schedule = parse_schedule("cosine:warmup=2,final=0.1");
  settings.augment = {.flip = true, .crop = 4, .cutout = 8, .jitter = 0.25f, .mixup = 0.5f};
  settings.spikes.threshold = 6.5;
  s.total_epochs = 10.5;
  s.parameters = 118282;
  s.selection.precision = core::Precision::bf16;
  s.selection.variants = {{ops::Op::conv2d_forward, "implicit_gemm"}, {ops::Op::relu_forward, "loops"}};
  s.device = {core::DeviceKind::cuda, 1, "NVIDIA H100", 90, 132, 85899345920, "driver 580"};
  s.memory = {1, 2, 3};
  s.plan_bytes = 9;
  s.timings = {timing(), OpTiming{}};
  s.step_microseconds = 99.5;
  s.ladder = std::make_shared<std::vector<LadderEntry>>(std::vector<LadderEntry>{
      {s.selection, "tensor cores", 64, 10, 20, 30.5, 4096, 0.125, 1.5, 19, true, {5, 6, 7}, {8, 9, 10}}});
  s.ranks = {{"cuda:0", "NVIDIA H100", 32, 99.5, 12.25, 4.5, 4096}, RankFigures{}};
  s.ranks[0].newest = {41, 1.5, 20, 30, 4.5, 7.75, 9, 3.25};
  s.ranks[0].clock_uncertainty = 8.5;
  s.ranks[0].watts = 310;
  s.ranks[0].megahertz = 1755;
  s.ranks[0].links = {0, 128.5};
  s.ranks[0].linked_by = "shared memory";
  s.awaited = "rank 1 has not come to all-reduce nccl, step 42 within 0.7 s";
  s.data_name = "MNIST";
  s.data_notice = "because";
  auto evaluation = std::make_shared<Evaluation>();
  evaluation->split = Split::validation;
  evaluation->step = 50;
  evaluation->epoch = 0.5;
  evaluation->loss = 0.25;
  evaluation->psnr = 21.5;
  evaluation->accuracy = 0.875;
  evaluation->head = true;
  evaluation->head_loss = 2.5;
  evaluation->head_accuracy = 0.3125;
  evaluation->classes = 2;
  evaluation->confusion = {5, 1, 2, 4294967295};
  s.evaluation = evaluation;
  s.divergence = {7, 42, "the loss is not finite", true, 40, 0.5f};
  s.checkpoint_step = 40;
  s.train_images = 50000;
  s.validation_images = 5000;
  s.test_images = 10000;
  s.test_views = 10;
  s.next_evaluation = 55;
  return s;
}

Snapshot read(const json& object) {
  Snapshot snapshot;
  from_json(object, snapshot);
  return snapshot;
}

TEST(SnapshotJson, ComesBackAsItWasWritten) {
  const json written = full();
  const Snapshot back = read(json::parse(written.dump()));
  EXPECT_EQ(json(back), written);
  EXPECT_EQ(back.step, full().step);
  EXPECT_EQ(back.last[Metric::loss], full().last[Metric::loss]);
  EXPECT_EQ(back.last_test[Metric::head_accuracy], full().last_test[Metric::head_accuracy]);
  EXPECT_EQ(back.notice, full().notice);
  EXPECT_EQ(back.selection, full().selection);
  EXPECT_EQ(*back.settings, *full().settings);
  EXPECT_EQ(back.device.memory_bytes, full().device.memory_bytes);
  ASSERT_EQ(back.timings.size(), 2u);
  EXPECT_EQ(back.timings[0].shape, timing().shape);
  EXPECT_EQ(back.timings[0].covered_by, timing().covered_by);
  EXPECT_EQ(back.timings[0].covers, timing().covers);
  EXPECT_FALSE(back.timings[1].covered_by);
  ASSERT_TRUE(back.evaluation);
  EXPECT_EQ(back.evaluation->confusion, full().evaluation->confusion);
  EXPECT_EQ(back.divergence.text, full().divergence.text);
}

std::size_t count(const auto&... members) {
  return sizeof...(members);
}

/// `written` has `members` fields, but for `left_out` of them, and none as in a `fresh` one.
void expect_every_field(const json& written, const json& fresh, std::size_t members,
                        std::size_t left_out = 0) {
  EXPECT_EQ(written.size(), members - left_out) << written.dump();
  for (const auto& [key, value] : written.items())
    EXPECT_NE(value, fresh.at(key)) << key << " is as in a fresh one";
}

// The bindings break where a member is added: give it a value in full(), and count it here.
TEST(SnapshotJson, EveryFieldIsWritten) {
  const Snapshot s = full();
  const json written = s;
  const json fresh = [] {
    Snapshot empty;
    empty.timings = {OpTiming{}};
    empty.ladder = std::make_shared<std::vector<LadderEntry>>(1);
    empty.evaluation = std::make_shared<Evaluation>();
    return empty;
  }();
  {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = timing();
    expect_every_field(written["timings"][0], fresh["timings"][0],
                       count(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q));
  }
  {
    constexpr std::size_t kExtents = 8;  // and what the call covers
    expect_every_field(written["timings"][0]["shape"], fresh["timings"][0]["shape"],
                       kExtents + 1 + std::size(ops::kParameters));
  }
  {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s.ladder->front();
    expect_every_field(written["ladder"][0], fresh["ladder"][0],
                       count(a, b, c, d, e, f, g, h, i, j, k, l, m));
  }
  {
    const auto& [a, b] = s.selection;
    expect_every_field(written["selection"], fresh["selection"], count(a, b));
  }
  {
    const auto& [a, b, c, d, e, f, g] = s.device;
    expect_every_field(written["device"], fresh["device"], count(a, b, c, d, e, f, g));
  }
  {
    const auto& [a, b, c] = s.memory;
    expect_every_field(written["memory"], fresh["memory"], count(a, b, c));
  }
  {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *s.evaluation;
    // The images' losses, classes and places: in a file of their own.
    expect_every_field(written["evaluation"], fresh["evaluation"],
                       count(a, b, c, d, e, f, g, h, i, j, k, l, m, n), 3);
  }
  {
    const auto& [a, b, c, d, e, f] = s.divergence;
    expect_every_field(written["trouble"], fresh["trouble"], count(a, b, c, d, e, f));
  }
}

/// A struct that is convertible to anything: as many of them as T has members make a T.
struct Anything {
  template <class T>
  operator T() const {
    std::terminate();
  }
};

/// Members of the aggregate T beside its base B, which takes one place.
template <class T, class... Known>
constexpr std::size_t members_of() {
  if constexpr (requires { T{{}, Known{}..., Anything{}}; }) {
    return members_of<T, Known..., Anything>();
  } else {
    return sizeof...(Known);
  }
}

TEST(SnapshotJson, EveryFieldOfTheWholeIsWrittenOrKnownToBeElsewhere) {
  const Snapshot s = full();
  const Progress& progress = s;
  const auto& [a, b, c, d, e, f, g, h, i, j] = progress;
  const std::size_t members = count(a, b, c, d, e, f, g, h, i, j) + members_of<Snapshot>();
  // figures, started, determinism, data, variants, network, network_number, rate_search, run_dir, can, training,
  // trainings, left, moments, rewind, aside, changes, may_close, kept_in, answers, most_ranks, why_ranks_stay,
  // revival, user_kernels: in the points, in run.json, in the folder itself, or of this process.
  expect_every_field(s, Snapshot(), members, 24);
}

TEST(SnapshotJson, AFreshSnapshotComesBackToo) {
  const json written = Snapshot();
  const Snapshot back = read(written);
  EXPECT_EQ(json(back).dump(),
            written.dump());  // as text, since NaN, which is null there, is not equal to NaN
  EXPECT_FALSE(back.evaluation);
  ASSERT_TRUE(back.ladder);
  EXPECT_TRUE(back.ladder->empty());
}

TEST(SnapshotJson, WhatIsNotFiniteIsNullAndComesBackAsNan) {
  Snapshot snapshot;
  snapshot.last[Metric::loss] = std::numeric_limits<float>::infinity();
  snapshot.epoch = std::nan("");
  const std::string text = json(snapshot).dump();
  const json object = json::parse(text);
  EXPECT_TRUE(object["last"]["loss"].is_null());
  const Snapshot back = read(object);
  EXPECT_TRUE(std::isnan(back.last[Metric::loss]));
  EXPECT_TRUE(std::isnan(back.epoch));
}

TEST(SnapshotJson, WhatIsMissingIsNamedAndNothingIsChanged) {
  const json whole = full();
  for (const auto& [key, value] : whole.items()) {
    if (key == "ranks" || key == "awaited") continue;  // below
    json without = whole;
    without.erase(key);
    Snapshot snapshot;
    snapshot.step = 5;
    try {
      from_json(without, snapshot);
      ADD_FAILURE() << key << " may be missing";
    } catch (const core::BadInput& error) {
      EXPECT_NE(std::string(error.what()).find("'" + key + "'"), std::string::npos) << error.what();
    }
    EXPECT_EQ(snapshot.step, 5u) << key;
  }
}

TEST(SnapshotJson, MetricsAndParametersThatCameAfterTheRunHaveTheirStandard) {
  json earlier = full();
  earlier["last"].erase("loss");
  for (const ops::ParameterRow& row : ops::kParameters)
    earlier["timings"][0]["shape"].erase(std::string(row.name));
  Snapshot snapshot = full();
  from_json(earlier, snapshot);
  EXPECT_TRUE(std::isnan(snapshot.last[Metric::loss]));
  EXPECT_EQ(snapshot.last[Metric::accuracy], full().last[Metric::accuracy]);
  ops::OpShape standard = timing().shape;
  ops::visit_parameters(standard, [](ops::Parameter, auto& value, auto usual) { value = usual; });
  EXPECT_EQ(snapshot.timings[0].shape, standard);
}

TEST(SnapshotJson, RunsOfBeforeThereWereRanksHaveNone) {
  json earlier = full();
  earlier.erase("ranks");
  earlier.erase("awaited");
  Snapshot snapshot = full();
  from_json(earlier, snapshot);
  EXPECT_TRUE(snapshot.ranks.empty());
  EXPECT_EQ(snapshot.awaited, "");
}

TEST(SnapshotJson, RanksOfBeforeTheirStepsWereLaidOnOneAxisHaveNone) {
  json earlier = full();
  for (const char* later : {"newest", "clock_uncertainty", "watts", "megahertz", "links", "linked_by"}) {
    earlier["ranks"][0].erase(later);
  }
  Snapshot snapshot = full();
  from_json(earlier, snapshot);
  EXPECT_EQ(snapshot.ranks.at(0).newest, RankStep());
  EXPECT_TRUE(snapshot.ranks[0].links.empty());
  EXPECT_EQ(snapshot.ranks[0].memory_bytes, 4096U);
}

TEST(SnapshotJson, WhatHasAnotherTypeIsRefused) {
  const json whole = full();
  const json list = json::array({1, "a", json::object()});
  for (const auto& [key, value] : whole.items()) {
    json wrong = whole;
    wrong[key] = list;
    EXPECT_THROW(read(wrong), core::BadInput) << key;
  }
  EXPECT_THROW(read(json("text")), core::BadInput);
  EXPECT_THROW(read(json::array()), core::BadInput);
}

TEST(SnapshotJson, NamesAndRangesAreChecked) {
  const json whole = full();
  const auto with = [&](const char* pointer, const json& value) {
    json changed = whole;
    changed[json::json_pointer(pointer)] = value;
    return changed;
  };
  EXPECT_THROW(read(with("/state", "sleeping")), core::BadInput);
  EXPECT_THROW(read(with("/step", -1)), core::BadInput);
  EXPECT_THROW(read(with("/settings/batch", 1LL << 40)), core::BadInput);
  EXPECT_THROW(read(with("/timings/0/op", "conv9d")), core::BadInput);
  EXPECT_THROW(read(with("/timings/0/shape/stride", 0)), core::BadInput);
  EXPECT_THROW(read(with("/timings/0/shape/dilation", 0)), core::BadInput);
  EXPECT_THROW(read(with("/selection/precision", "fp1")), core::BadInput);
  EXPECT_THROW(read(with("/selection/variants/conv9d", "naive")), core::BadInput);
  EXPECT_THROW(read(with("/settings/schedule", "sometimes")), core::BadInput);
  EXPECT_THROW(read(with("/evaluation/classes", 3)), core::BadInput) << "the table has 2 x 2";
  EXPECT_THROW(read(with("/evaluation/classes", 100000)), core::BadInput);
  EXPECT_THROW(read(with("/ladder", nullptr)), core::BadInput);
}

TEST(SnapshotJson, EveryStateHasAName) {
  for (const TrainerState state : {TrainerState::preparing, TrainerState::paused, TrainerState::running,
                                   TrainerState::finished, TrainerState::failed, TrainerState::interrupted}) {
    Snapshot snapshot;
    snapshot.state = state;
    EXPECT_EQ(read(json(snapshot)).state, state);
  }
}

}  // namespace
}  // namespace warpscope::training::snapshot_json_test
